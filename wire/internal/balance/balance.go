package balance

import (
	"context"
	"errors"
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const (
	// lookupInterval is the least time between two look-ups of all names, as on the
	// wire grpc.
	lookupInterval = 5 * time.Second
	// lookupTimeout bounds one.
	lookupTimeout = 20 * time.Second
)

var errClosing = status.Error(codes.Canceled, "the client connection is closing")

// A balancer is an [rpc.Conn] over those of its members.
type balancer struct {
	cfg  *rpc.ClientConfig
	make func(*rpc.ClientConfig) (rpc.Conn, error)

	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc
	tasks  sync.WaitGroup // what tries to reach members, looks names up, closes

	turn  atomic.Uint64
	ready atomic.Pointer[[]*member] // that take calls, never nil

	mu      sync.Mutex
	started bool
	closed  bool
	members []*member
	leaving map[*member]struct{} // that are members no more and still have calls
	changed chan struct{}        // closed, and made anew, when there is something new to choose by
	noNames error                // why there are no members
	again   chan struct{}        // asks for a look-up
}

// New makes a connection that spreads its calls over the addresses of cfg. newConn makes
// the wire's connection to one of them. The caller's configuration must be good for
// newConn: a mistake in it is told here.
func New(cfg *rpc.ClientConfig, newConn func(*rpc.ClientConfig) (rpc.Conn, error)) (rpc.Conn, error) {
	b := &balancer{cfg: cfg, make: newConn, leaving: map[*member]struct{}{}, changed: make(chan struct{}), again: make(chan struct{}, 1)}
	b.ctx, b.cancel = context.WithCancel(context.Background())
	b.ready.Store(new([]*member))
	b.turn.Store(rand.Uint64N(1 << 32)) // many clients begin at different servers //nolint:gosec // no secret
	probe, err := newConn(cfg)
	if err == nil {
		err = probe.Close() // it has not been used
	}
	if err != nil {
		b.cancel()
		return nil, err
	}
	return b, nil
}

// start begins to reach the members, when the first call comes.
func (b *balancer) start() {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.started || b.closed {
		return
	}
	b.started = true
	if b.cfg.HasNames() {
		b.tasks.Go(b.lookUp)
		return
	}
	hosts, _ := b.cfg.Resolve(b.ctx) // there is nothing to look up
	b.setMembers(hosts)
}

// lookUp finds the addresses, and again when one of them cannot be reached.
func (b *balancer) lookUp() {
	for fails := 0; b.ctx.Err() == nil; {
		ctx, cancel := context.WithTimeout(b.ctx, lookupTimeout)
		hosts, err := b.cfg.Resolve(ctx)
		cancel()
		b.mu.Lock()
		switch {
		case len(hosts) > 0:
			b.setMembers(hosts)
		case len(b.members) == 0:
			b.noNames = &rpc.DialError{Target: b.cfg.Target, Err: err}
			b.tell()
		}
		b.mu.Unlock()
		if err != nil {
			fails++
			pause(b.ctx, min(maxPause<<min(fails-1, 16), 30*time.Second))
			continue
		}
		fails = 0
		pause(b.ctx, lookupInterval)
		select {
		case <-b.ctx.Done():
		case <-b.again:
		}
	}
}

// setMembers makes those of hosts the members. b.mu is held.
func (b *balancer) setMembers(hosts []rpc.Host) {
	if b.closed {
		return
	}
	b.noNames = nil
	old := b.members
	b.members = nil
	for _, h := range hosts {
		if slices.ContainsFunc(b.members, func(m *member) bool { return m.host == h }) {
			continue
		}
		if i := slices.IndexFunc(old, func(m *member) bool { return m.host == h }); i >= 0 {
			b.members = append(b.members, old[i])
			continue
		}
		m, err := b.newMember(h)
		if err != nil {
			b.noNames = err // never: New has tried
			continue
		}
		b.members = append(b.members, m)
		b.tasks.Go(func() { m.reach(b.ctx) })
	}
	for _, m := range old {
		if slices.Contains(b.members, m) {
			continue
		}
		m.removed = true
		b.leaving[m] = struct{}{}
		b.tasks.Go(func() {
			m.calls.Wait()
			_ = m.close() // nothing runs there
			b.mu.Lock()
			defer b.mu.Unlock()
			delete(b.leaving, m)
		})
	}
	b.tell()
}

// tell makes what is known of the members what calls choose by. b.mu is held.
func (b *balancer) tell() {
	var list []*member
	for _, m := range b.members {
		if m.is == ready {
			list = append(list, m)
		}
	}
	b.ready.Store(&list)
	close(b.changed)
	b.changed = make(chan struct{})
}

// reached says that a member takes calls.
func (b *balancer) reached(m *member) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m.is = ready
	b.tell()
}

// missed says that a member could not be reached by the balancer.
func (b *balancer) missed(m *member, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	m.is, m.err = down, err
	b.tell()
	b.lookAgain()
}

// lost says that a call found nobody at a member, which gets no more until it has been
// reached again.
func (b *balancer) lost(m *member, err error) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.is != ready || b.closed {
		return
	}
	m.is, m.err = down, err
	m.fails.Add(1)
	b.tell()
	b.lookAgain()
	b.tasks.Go(func() { m.reach(b.ctx) })
}

// lookAgain asks for a look-up of the names, if there are any.
func (b *balancer) lookAgain() {
	select {
	case b.again <- struct{}{}:
	default: // it has been asked
	}
}

func (b *balancer) isRemoved(m *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	return m.removed
}

// hasOther reports whether another member takes calls.
func (b *balancer) hasOther(m *member) bool {
	return slices.ContainsFunc(*b.ready.Load(), func(o *member) bool { return o != m })
}

// pick chooses the member of a call, which is counted in until leave: the next that
// takes calls and is not among tried. Without one it waits while some have not been tried
// yet, or for as long as patient says. An error is that no member could be reached,
// that ctx or the balancer has ended, or nil with no member: all were tried.
func (b *balancer) pick(ctx context.Context, tried []*member, patient bool) (*member, error) {
	for {
		if m := b.next(tried); m != nil {
			return m, nil
		}
		b.start()
		b.mu.Lock()
		changed, noNames := b.changed, b.noNames
		wait := len(b.members) == 0 && noNames == nil
		some, now := false, false
		var errs []error
		for _, m := range b.members {
			switch {
			case slices.Contains(tried, m):
				continue
			case m.is == ready:
				now = true // just so
			case m.is == down:
				errs = append(errs, m.err)
			default:
				wait = true
			}
			some = true
		}
		closed := b.closed
		b.mu.Unlock()
		switch {
		case closed:
			return nil, errClosing
		case now:
			continue
		case len(tried) > 0 && !wait:
			return nil, nil //nolint:nilnil // there is nobody else to try
		case !wait && !patient && !some:
			return nil, noNames
		case !wait && !patient:
			return nil, unreachable(b.cfg.Target, errs)
		}
		select {
		case <-changed:
		case <-ctx.Done():
			err := errors.Join(append(errs, noNames)...)
			if err == nil {
				return nil, ctx.Err()
			}
			return nil, status.Errorf(status.FromContextError(ctx.Err()).Code(), "%v while waiting for a server: %v", ctx.Err(), err)
		}
	}
}

// unreachable joins the errors of all members.
func unreachable(target string, errs []error) error {
	var causes []error
	for _, err := range errs {
		var one *rpc.DialError
		if errors.As(err, &one) {
			err = one.Err
		}
		causes = append(causes, err)
	}
	return &rpc.DialError{Target: target, Err: errors.Join(causes...)}
}

// next is the member whose turn it is, nil if there is none.
func (b *balancer) next(tried []*member) *member {
	list := *b.ready.Load()
	n := uint64(len(list))
	if n == 0 {
		return nil
	}
	turn := b.turn.Add(1)
	for i := range n {
		if m := list[(turn+i)%n]; !slices.Contains(tried, m) && b.enter(m) {
			return m
		}
	}
	return nil
}

// enter counts a call in.
func (b *balancer) enter(m *member) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if m.removed || b.closed {
		return false
	}
	m.calls.Add(1)
	return true
}

// Close ends the calls in flight, which are then Canceled.
func (b *balancer) Close() error {
	b.mu.Lock()
	if b.closed {
		b.mu.Unlock()
		return nil
	}
	b.closed = true
	members := slices.AppendSeq(b.members, maps.Keys(b.leaving))
	b.members = nil
	b.tell()
	b.mu.Unlock()
	b.cancel()
	var errs []error
	for _, m := range members {
		errs = append(errs, m.close())
	}
	b.tasks.Wait()
	for _, m := range members {
		m.dropSpare() // reached in the meantime
	}
	return errors.Join(errs...)
}
