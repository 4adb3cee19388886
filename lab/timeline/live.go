package timeline

import (
	"context"
	"sync/atomic"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire/lab/load"
)

// A Live is how a load goes.
type Live struct {
	// Right, Errors, Late and Dropped count all calls so far that ended.
	Right, Errors, Late, Dropped int64
	// InFlight is how many calls are open, -1 if [Collector.Conn] was not used.
	InFlight int64
	// Rate is right replies a second, over about the last second; so are P50 and
	// P99, which are within 1 %, and 0 if no right reply came. Replies is how many
	// came.
	Rate     float64
	P50, P99 time.Duration
	Replies  int64
}

// live is what a shard has for those who look on.
type live struct {
	right, errors, late, dropped int64
	recent                       *spread // since the last look
}

func (l *live) add(s *load.Sample) {
	switch {
	case s.Dropped:
		l.dropped++
		return
	case s.Censored:
		return
	}
	if s.Begin-s.Scheduled > load.LateAfter {
		l.late++
	}
	if s.Err != "" {
		l.errors++
		return
	}
	l.right++
	if l.recent == nil {
		l.recent = new(spread)
	}
	l.recent.add(int64(s.End - s.Begin))
}

// recent are the looks of the last second.
type recent struct {
	looks   []look
	watched atomic.Bool // connections are
}

// look is what came between two looks.
type look struct {
	from, to time.Time
	times    *spread
}

// window is how far back a look sees.
const window = time.Second

// Live tells how the load goes. One goroutine at a time may ask, for instance four
// times a second; the first time it tells of nothing recent. The collector was made
// with Config.Live.
func (c *Collector) Live() Live {
	now := time.Now()
	one := look{from: now, to: now, times: new(spread)}
	looks := c.recent.looks
	if len(looks) > 0 {
		one.from = looks[len(looks)-1].to
	}
	l := Live{InFlight: -1}
	watched := c.recent.watched.Load()
	if watched {
		l.InFlight = 0
	}
	for i := range c.shards {
		sh := &c.shards[i]
		sh.mu.Lock()
		l.Right, l.Errors, l.Late, l.Dropped = l.Right+sh.live.right, l.Errors+sh.live.errors, l.Late+sh.live.late, l.Dropped+sh.live.dropped
		if sh.live.recent != nil {
			one.times.merge(sh.live.recent)
			sh.live.recent.clear()
		}
		sh.mu.Unlock()
		if watched {
			l.InFlight += sh.inFlight.Load()
		}
	}
	if len(looks) == 0 { // nobody knows since when
		one.times.clear()
	}
	looks = append(looks, one)
	for len(looks) > 1 && now.Sub(looks[1].from) >= window {
		looks = looks[1:]
	}
	c.recent.looks = looks
	var times spread
	for _, o := range looks {
		times.merge(o.times)
	}
	l.P50, l.P99, l.Replies = time.Duration(times.percentile(50)), time.Duration(times.percentile(99)), times.count
	if span := now.Sub(looks[0].from); span > 0 {
		l.Rate = float64(times.count) / span.Seconds()
	}
	return l
}

// Conn wraps a caller's connection, so that Live knows how many calls are open:
// samples tell of calls that ended. It is used before the load begins.
func (c *Collector) Conn(caller int, conn grpc.ClientConnInterface) grpc.ClientConnInterface {
	c.recent.watched.Store(true)
	return &watched{conn, c.shard(caller)}
}

type watched struct {
	grpc.ClientConnInterface
	shard *shard
}

func (w *watched) Invoke(ctx context.Context, path string, in, out any, opts ...grpc.CallOption) error {
	w.shard.inFlight.Add(1)
	defer w.shard.inFlight.Add(-1)
	return w.ClientConnInterface.Invoke(ctx, path, in, out, opts...)
}
