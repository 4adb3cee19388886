package grpcwire

import (
	"context"
	"errors"
	"strings"
	"time"

	"google.golang.org/grpc/resolver"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	scheme = "everywire"
	// lookupTimeout bounds one look-up of all names.
	lookupTimeout = 20 * time.Second
	// lookupInterval is the least time between two. Every connection that fails asks
	// for one.
	lookupInterval = 5 * time.Second
	// A look-up that failed is tried again after a second, and then each time after
	// twice as long, up to maxLookupDelay.
	minLookupDelay = time.Second
	maxLookupDelay = 30 * time.Second
)

// A hosts builds the resolver of one connection: its addresses in their order, each
// name with all of the addresses that it has. grpc-go's own resolver of DNS takes one
// name, and looks it up at most every 30 s for the whole program.
type hosts struct{ cfg *rpc.ClientConfig }

// Scheme is [resolver.Builder]'s.
func (hosts) Scheme() string { return scheme }

// Build is [resolver.Builder]'s.
func (h hosts) Build(_ resolver.Target, cc resolver.ClientConn, _ resolver.BuildOptions) (resolver.Resolver, error) {
	if !h.cfg.HasNames() {
		addrs, _ := h.lookup(context.Background()) // there is nothing to look up
		return fixedAddresses{}, cc.UpdateState(resolver.State{Addresses: addrs})
	}
	r := &hostResolver{hosts: h, cc: cc, again: make(chan struct{}, 1), done: make(chan struct{})}
	var ctx context.Context
	ctx, r.cancel = context.WithCancel(context.Background())
	go r.run(ctx)
	return r, nil
}

// lookup finds the addresses of all, see [rpc.ClientConfig.Resolve].
func (h hosts) lookup(ctx context.Context) (addrs []resolver.Address, err error) {
	found, err := h.cfg.Resolve(ctx)
	for _, f := range found {
		one := resolver.Address{Addr: f.Addr}
		if h.cfg.TLS != nil && h.cfg.TLS.ServerName == "" {
			one.ServerName = rpc.HostOf(f.Written) // not that of the first for all
		}
		addrs = append(addrs, one)
	}
	return addrs, err
}

// fixedAddresses is the resolver of addresses that are no names.
type fixedAddresses struct{}

func (fixedAddresses) ResolveNow(resolver.ResolveNowOptions) {}
func (fixedAddresses) Close()                                {}

// A hostResolver looks names up when grpc-go asks for it, which it does when a
// connection has failed or ended.
type hostResolver struct {
	hosts
	cc     resolver.ClientConn
	again  chan struct{}
	cancel context.CancelFunc
	done   chan struct{}
}

// ResolveNow is [resolver.Resolver]'s.
func (r *hostResolver) ResolveNow(resolver.ResolveNowOptions) {
	select {
	case r.again <- struct{}{}:
	default: // it has been asked
	}
}

// Close is [resolver.Resolver]'s.
func (r *hostResolver) Close() {
	r.cancel()
	<-r.done
}

func (r *hostResolver) run(ctx context.Context) {
	defer close(r.done)
	delay := minLookupDelay
	for ctx.Err() == nil {
		if r.update(ctx) {
			delay = minLookupDelay
			sleep(ctx, lookupInterval)
			select {
			case <-ctx.Done():
			case <-r.again:
			}
			continue
		}
		sleep(ctx, delay)
		delay = min(2*delay, maxLookupDelay)
	}
}

// update tells grpc-go of the addresses, or why there are none.
func (r *hostResolver) update(ctx context.Context) (ok bool) {
	ctx, cancel := context.WithTimeout(ctx, lookupTimeout)
	defer cancel()
	addrs, err := r.lookup(ctx)
	if len(addrs) == 0 {
		r.cc.ReportError(err)
		return false
	}
	return errors.Join(err, r.cc.UpdateState(resolver.State{Addresses: addrs})) == nil
}

func sleep(ctx context.Context, d time.Duration) {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-ctx.Done():
	case <-t.C:
	}
}

// authority is the :authority of calls to addr, which may be a unix socket.
func authority(addr string) string {
	if strings.HasPrefix(addr, "/") || strings.HasPrefix(addr, "@") {
		return "localhost"
	}
	return addr
}
