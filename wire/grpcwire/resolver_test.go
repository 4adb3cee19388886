package grpcwire

import (
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/resolver"
	"google.golang.org/grpc/serviceconfig"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// A zone is a DNS of one name.
type zone struct {
	mu      sync.Mutex
	ips     []string
	err     error
	lookups int
}

func (z *zone) set(err error, ips ...string) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.ips, z.err = ips, err
}

func (z *zone) lookup(_ context.Context, host string) ([]string, error) {
	z.mu.Lock()
	defer z.mu.Unlock()
	z.lookups++
	if host != "kv.test" {
		return nil, &net.DNSError{Err: "no such host", Name: host, IsNotFound: true}
	}
	return z.ips, z.err
}

// backends are servers whose connections somewhere go to: the address that a client
// dials, and the server that it reaches.
type backends struct {
	mu     sync.Mutex
	addrs  map[string]string // "192.0.2.1:90" to where it listens
	dialed chan string       // if it is set
}

func (b *backends) dial(ctx context.Context, addr string) (net.Conn, error) {
	b.mu.Lock()
	listens, ok := b.addrs[addr]
	dialed := b.dialed
	b.mu.Unlock()
	if dialed != nil {
		dialed <- addr
	}
	if !ok {
		return nil, fmt.Errorf("nobody is at %s", addr)
	}
	return new(net.Dialer).DialContext(ctx, "tcp", listens)
}

func startBackends(t *testing.T, ips ...string) (*backends, map[string]rpc.Server) {
	b, servers := &backends{addrs: map[string]string{}}, map[string]rpc.Server{}
	for _, ip := range ips {
		addr, srv := start(t, probeFunc(func(*probepb.RunRequest) error { return nil }))
		b.addrs[ip+":90"], servers[addr] = addr, srv
	}
	return b, servers
}

// called makes a call and returns the server that answered.
func called(t *testing.T, conn rpc.Conn) string {
	t.Helper()
	var p peer.Peer
	if _, err := probepb.NewProbeClient(conn).Run(testContext(t), &probepb.RunRequest{}, grpc.Peer(&p), grpc.WaitForReady(true)); err != nil {
		t.Fatal(err)
	}
	return p.Addr.String()
}

// With pick_first one connection carries all calls, and so one backend of three
// answers all; round_robin spreads them over all addresses of the name, as it does
// over a list.
func TestBalancing(t *testing.T) {
	ips := []string{"192.0.2.1", "192.0.2.2", "192.0.2.3"}
	for _, addrs := range [][]string{{"kv.test:90"}, {"192.0.2.1:90", "192.0.2.2:90", "192.0.2.3:90"}, {"192.0.2.1:90", "kv.test:90"}} {
		t.Run(strings.Join(addrs, ","), func(t *testing.T) {
			b, servers := startBackends(t, ips...)
			dns := &zone{ips: ips}
			config := func(policy string) *rpc.ClientConfig {
				cfg := clientConfig(rpc.Options{"lb": policy}, addrs...)
				cfg.DialAddr, cfg.Lookup = b.dial, dns.lookup
				return cfg
			}
			pinned := connect(t, config("pick_first"))
			first := called(t, pinned)
			for range 20 {
				if got := called(t, pinned); got != first {
					t.Fatalf("pick_first called %s, then %s", first, got)
				}
			}
			spread := connect(t, config("round_robin"))
			seen := map[string]int{}
			for len(seen) < 3 { // connections may come up later
				seen[called(t, spread)]++
			}
			clear(seen)
			for range 30 {
				seen[called(t, spread)]++
			}
			for addr := range servers {
				if seen[addr] != 10 {
					t.Errorf("round_robin called %v, want 10 each", seen)
					break
				}
			}
		})
	}
}

// A backend that goes away costs no call, and one that takes its place is found.
func TestBackendGoes(t *testing.T) {
	t.Parallel() // the second look-up is seconds away
	b, servers := startBackends(t, "192.0.2.1", "192.0.2.2")
	dns := &zone{ips: []string{"192.0.2.1", "192.0.2.2"}}
	cfg := clientConfig(rpc.Options{"lb": "round_robin"}, "kv.test:90")
	cfg.DialAddr, cfg.Lookup = b.dial, dns.lookup
	conn := connect(t, cfg)
	seen := map[string]bool{}
	for len(seen) < 2 {
		seen[called(t, conn)] = true
	}
	gone := b.addrs["192.0.2.1:90"]
	other, _ := start(t, probeFunc(func(*probepb.RunRequest) error { return nil }))
	b.mu.Lock()
	delete(b.addrs, "192.0.2.1:90")
	b.addrs["192.0.2.9:90"] = other
	b.dialed = make(chan string, 1000)
	b.mu.Unlock()
	dns.set(nil, "192.0.2.2", "192.0.2.9")
	if err := servers[gone].Shutdown(testContext(t)); err != nil {
		t.Fatal(err)
	}
	for range 10 {
		if called(t, conn) == gone {
			t.Fatal("called a server that had shut down")
		}
	}
	for addr := ""; addr != "192.0.2.9:90"; {
		addr = <-b.dialed
	}
	for called(t, conn) != other {
	}
}

// Where the dialer is the program's, names are its own to find.
func TestNamesOfDialer(t *testing.T) {
	b, _ := startBackends(t)
	addr, _ := start(t, testRegistry())
	b.addrs["kv.test:90"] = addr
	cfg := clientConfig(rpc.Options{"lb": "round_robin"}, "kv.test:90")
	cfg.DialAddr = b.dial
	if _, err := everywire.Call[sumReply](testContext(t), connect(t, cfg), sumMethod, &sumRequest{}); err != nil {
		t.Error(err)
	}
}

func TestUnknownName(t *testing.T) {
	dns := new(zone)
	cfg := clientConfig(nil, "nobody.test:90")
	cfg.Lookup = dns.lookup
	_, err := everywire.Call[sumReply](testContext(t), connect(t, cfg), sumMethod, &sumRequest{})
	wantCode(t, err, codes.Unavailable)
	if err == nil || !strings.Contains(err.Error(), "nobody.test") {
		t.Errorf("%v does not name the host", err)
	}
}

// resolved is the end of grpc-go that a resolver tells of addresses.
type resolved struct {
	resolver.ClientConn
	states chan []string
	errs   chan error
}

func (r *resolved) UpdateState(s resolver.State) error {
	var addrs []string
	for _, a := range s.Addresses {
		addrs = append(addrs, a.Addr+" "+a.ServerName)
	}
	r.states <- addrs
	return nil
}

func (r *resolved) ReportError(err error) { r.errs <- err }

func (*resolved) ParseServiceConfig(string) *serviceconfig.ParseResult { return nil }

func resolve(t *testing.T, dns *zone, addrs ...string) (*resolved, resolver.Resolver) {
	cc := &resolved{states: make(chan []string, 100), errs: make(chan error, 100)}
	cfg := clientConfig(nil, addrs...)
	cfg.Lookup, cfg.TLS = dns.lookup, clientTLS(nil)
	cfg.TLS.ServerName = ""
	r, err := hosts{cfg}.Build(resolver.Target{}, cc, resolver.BuildOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return cc, r
}

// Names are looked up again when grpc-go asks, but not more often than every few
// seconds; a name among others that has no address does not hold these up.
func TestLookingUpAgain(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &zone{ips: []string{"192.0.2.1", "2001:db8::1"}}
		cc, r := resolve(t, dns, "kv.test:90", "192.0.2.7:91")
		defer r.Close()
		begun := time.Now()
		if got, want := <-cc.states, []string{"192.0.2.1:90 kv.test", "[2001:db8::1]:90 kv.test", "192.0.2.7:91 192.0.2.7"}; !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
		dns.set(nil, "192.0.2.2")
		for range 10 {
			r.ResolveNow(resolver.ResolveNowOptions{})
		}
		if got := <-cc.states; got[0] != "192.0.2.2:90 kv.test" || len(got) != 2 {
			t.Errorf("got %q", got)
		}
		if d := time.Since(begun); d != lookupInterval {
			t.Errorf("looked up again after %v", d)
		}
		time.Sleep(time.Hour)
		synctest.Wait()
		if dns.lookups > 3 { // the last request may have come in time
			t.Errorf("%d look-ups", dns.lookups)
		}
	})
}

func TestLookingUpFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		dns := &zone{err: errors.New("the server is busy")}
		cc, r := resolve(t, dns, "kv.test:90")
		begun := time.Now()
		for _, want := range []int{0, 1, 3, 7, 15, 31, 61, 91} {
			err := <-cc.errs
			if d := time.Since(begun); d != time.Duration(want)*time.Second || !strings.Contains(err.Error(), "busy") {
				t.Errorf("%v after %v, want %ds", err, d, want)
			}
		}
		dns.set(nil)
		if err := <-cc.errs; !strings.Contains(err.Error(), "kv.test has no address") {
			t.Errorf("got %v", err)
		}
		dns.set(nil, "192.0.2.1")
		if got := <-cc.states; len(got) != 1 {
			t.Errorf("got %q", got)
		}
		r.Close() // nothing is left that would look up
	})
	synctest.Test(t, func(t *testing.T) {
		dns := &zone{ips: []string{"192.0.2.1"}}
		cc, r := resolve(t, dns, "kv.test:90", "nobody.test:90")
		defer r.Close()
		for range 3 { // what is there is told, and what is not is tried again
			if got := <-cc.states; len(got) != 1 {
				t.Errorf("got %q", got)
			}
		}
	})
}
