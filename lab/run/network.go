package run

import (
	"context"
	"fmt"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/everywire/everywire/lab/netcount"
	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/lab/ref"
	"github.com/everywire/everywire/link"
)

// The network between a trial's two processes is loopback or an emulated link.
// The server's process hosts the link and listens on its end; the generator's
// joins it and dials from there.

// linkArg says which network; for the generator also where to join.
type linkArg struct {
	Link string `json:"link"`
	Seed uint64 `json:"seed"`
	Join string `json:"join,omitempty"`
}

func (a linkArg) emulated() bool { return a.Link != "" && a.Link != plan.Loopback }

// host makes the server's end; end is nil on loopback.
func (a linkArg) host(ctx context.Context) (at ref.Place, end *link.End, join string, err error) {
	if !a.emulated() {
		return ref.Loopback(), nil, "", nil
	}
	spec, err := link.Parse(a.Link)
	if err != nil {
		return ref.Place{}, nil, "", err
	}
	if end, join, err = link.Host(ctx, spec, link.WithSeed(a.Seed)); err != nil {
		return ref.Place{}, nil, "", err
	}
	return ref.Place{Addr: net.JoinHostPort(end.Addr().String(), "0"), Listen: end.Listen}, end, join, nil
}

// join makes the generator's end, nil on loopback.
func (a linkArg) join(ctx context.Context) (*link.End, error) {
	if !a.emulated() {
		return nil, nil //nolint:nilnil // no end is what loopback has
	}
	spec, err := link.Parse(a.Link)
	if err != nil {
		return nil, err
	}
	return link.Join(ctx, a.Join, spec, link.WithSeed(a.Seed))
}

// checkLinks reports a link that cannot be made.
func checkLinks(p *plan.Plan) error {
	for _, l := range p.Networks() {
		if l == plan.Loopback {
			continue
		}
		if _, err := link.Parse(l); err != nil {
			return fmt.Errorf("plan: %w", err)
		}
	}
	return nil
}

// meter counts what crosses the network in the measured time.
type meter struct {
	sockets *netcount.Counter
	end     *link.End // nil on loopback
	rtt     time.Duration

	before record.Net
	link   link.Stats
}

// dial opens connections that are counted.
func (m *meter) dial() netcount.Dial {
	if m.end == nil {
		return m.sockets.Wrap(func(ctx context.Context, addr string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, "tcp", addr)
		})
	}
	return m.sockets.Wrap(func(ctx context.Context, addr string) (net.Conn, error) {
		return m.end.DialContext(ctx, "tcp", addr)
	})
}

// pings is how many probes measure the link's round-trip time.
const pings = 5

// start begins counting. On an emulated link, which is idle now, it first
// measures the round-trip time.
func (m *meter) start(ctx context.Context) error {
	if m.end != nil {
		rtt, err := ping(ctx, m.end)
		if err != nil {
			return err
		}
		m.rtt, m.link = rtt, m.end.Stats()
	}
	m.before = m.sockets.Snapshot()
	return nil
}

// ping is the median of some probes that travel one behind the other, so that
// all together take little more than one round trip.
func ping(ctx context.Context, end *link.End) (time.Duration, error) {
	var wg sync.WaitGroup
	took, errs := make([]time.Duration, pings), make([]error, pings)
	for i := range pings {
		wg.Go(func() { took[i], errs[i] = end.Ping(ctx) })
	}
	wg.Wait()
	for _, err := range errs {
		if err != nil {
			return 0, err
		}
	}
	slices.Sort(took)
	return took[pings/2], nil
}

// stop returns what was counted since start.
func (m *meter) stop() (record.Net, *record.Emulated) {
	n := netcount.Between(m.before, m.sockets.Snapshot())
	if m.end == nil {
		return n, nil
	}
	s := m.end.Stats().Minus(m.link)
	n.PacketsOut, n.PacketsIn = s.Out.Packets, s.In.Packets
	n.WireOut, n.WireIn = s.Out.IPBytes, s.In.IPBytes
	return n, &record.Emulated{
		Asked: int64(m.end.Spec().RTT), RTT: int64(m.rtt), Late: int64(s.LateMean),
		LostOut: s.Out.Lost, LostIn: s.In.Lost, OverflowedOut: s.Out.Overflowed, OverflowedIn: s.In.Overflowed,
		ACKsOut: s.Out.PureACKs, ACKsIn: s.In.PureACKs, Retransmits: s.Retransmits,
	}
}
