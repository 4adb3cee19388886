package wire_test

import (
	"context"
	"crypto/tls"
	"log/slog"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/wire"
)

// trips are the wires, and how many round trips a call takes on a new connection
// without TLS; on an open one it is one. The reasons are in docs/spec/targets.md.
var trips = []struct {
	shape  string
	opened int
}{
	{"rest", 2},
	{"rest?http=2", 2},
	{"jsonrpc+http", 2},
	{"jsonrpc+tcp", 2},
	{"jsonrpc+tcp?framing=header", 2},
	{"jsonrpc+ws", 3},
	{"msgpackrpc+tcp", 2},
	{"msgpackrpc+tcp?envelope=map", 2},
	{"grpc", 3},
	{"grpc?codec=json", 3},
	{"connect", 2},
	{"connect?http=1.1", 2},
	{"connect?protocol=grpc-web", 2},
}

// How many round trips calls take, exactly: the clock goes on only when everything
// waits, so that nothing but the network takes time.
func TestRoundTrips(t *testing.T) {
	const rtt = 142500 * time.Microsecond
	cert := testCertificate()
	for _, wireOf := range trips {
		for _, shared := range []bool{false, true} {
			for _, version := range []uint16{0, tls.VersionTLS12, tls.VersionTLS13} {
				opened := wireOf.opened
				name := wireOf.shape
				if shared {
					name = "any port/" + name
				}
				switch version {
				case tls.VersionTLS12:
					opened, name = opened+2, name+"/TLS 1.2"
					if !shared && strings.HasPrefix(wireOf.shape, "grpc") {
						opened-- // the server has the last word of the handshake, and its SETTINGS come with that
					}
				case tls.VersionTLS13:
					opened, name = opened+1, name+"/TLS 1.3"
				}
				t.Run(name, func(t *testing.T) {
					synctest.Test(t, func(t *testing.T) {
						open, each := timesOfCalls(t, wireOf.shape, shared, rtt, version, cert)
						want := []time.Duration{rtt * time.Duration(opened), rtt, rtt}
						for i, took := range open {
							if took != want[i] {
								t.Errorf("on one connection call %d takes %v RTT, want %v", i+1, trip(took, rtt), trip(want[i], rtt))
							}
						}
						for i, took := range each {
							if took != want[0] {
								t.Errorf("with a connection for each, call %d takes %v RTT, want %v", i+1, trip(took, rtt), opened)
							}
						}
					})
				})
			}
		}
	}
}

func trip(d, rtt time.Duration) float64 { return float64(d) / float64(rtt) }

// timesOfCalls is how long calls take on one connection, and on one for each.
func timesOfCalls(t *testing.T, shape string, shared bool, rtt time.Duration, version uint16, cert tls.Certificate) (open, each [3]time.Duration) {
	t.Helper()
	target, err := wire.ParseShape(shape)
	if err != nil {
		t.Fatal(err)
	}
	served := target
	served.Options = nil
	if shared {
		served = wire.Target{Wire: "any", Transport: "tcp"}
		if strings.HasPrefix(shape, "jsonrpc+ws") {
			target.Path = "/rpc"
		}
	}
	target.TLS, served.TLS = version != 0, version != 0
	n := newDelayedNet(t, rtt)
	reg := everywire.NewRegistry()
	arith.Register(reg)
	opts := []wire.ServeOption{wire.WithListener(n.listen), wire.WithLogger(slog.New(slog.DiscardHandler))}
	dials := []wire.DialOption{wire.WithDialer(n.dial), wire.WithMethods(reg)}
	if version != 0 {
		opts = append(opts, wire.WithTLSConfig(&tls.Config{Certificates: []tls.Certificate{cert}})) //nolint:gosec // the client chooses
		dials = append(dials, wire.WithTLSConfig(&tls.Config{MinVersion: version, MaxVersion: version, InsecureSkipVerify: true}))
	}
	server, err := wire.Serve(context.Background(), reg, []string{served.At("127.0.0.1:7070").String()}, opts...)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	}()
	for _, reconnect := range []bool{false, true} {
		to, times := target.At("127.0.0.1:7070").String(), &open
		if reconnect {
			to, times = withOption(to, "reconnect"), &each
		}
		conn, err := wire.Dial(to, dials...)
		if err != nil {
			t.Fatal(err)
		}
		for i := range times {
			begin := time.Now()
			out, err := everywire.Call[arith.SumReply](t.Context(), conn, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21}})
			if err != nil || out.Sum != 41 {
				t.Fatalf("%v, %v", out, err)
			}
			times[i] = time.Since(begin)
			time.Sleep(3 * rtt) // what is still on its way is not the next call's
		}
		if err := conn.Close(); err != nil {
			t.Error(err)
		}
		time.Sleep(3 * rtt)
	}
	return open, each
}

func withOption(target, option string) string {
	if strings.Contains(target, "?") {
		return target + "&" + option
	}
	return target + "?" + option
}
