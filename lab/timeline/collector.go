package timeline

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/record"
)

// MaxPoints is how many points a timeline has at most: a run of more seconds has
// points of two seconds, then of four, and so on.
const MaxPoints = 600

// Config is what a collector needs to know of a load.
type Config struct {
	Callers int
	// Open is set for an open loop, whose calls have a time from their intended
	// start.
	Open bool
	// Live is set if somebody asks for [Collector.Live], which costs each call some
	// nanoseconds more.
	Live bool
}

// A Collector takes the samples of one load. Its Sample is for load.Config's: many
// callers may be in it at once; a call costs a lock that hardly anybody else wants,
// and no memory but in the first call of a second. A run of any length takes some
// megabytes a core.
type Collector struct {
	config Config
	shards []shard
	recent recent
}

// New returns an empty collector.
func New(c Config) *Collector {
	n := min(max(1, c.Callers), 2*runtime.GOMAXPROCS(0), 32)
	all := &Collector{config: c, shards: make([]shard, n)}
	for i := range all.shards {
		all.shards[i].width = time.Second
	}
	return all
}

// shard is what some of the callers have. They seldom call at the same moment, so
// its lock is mostly free.
type shard struct {
	mu    sync.Mutex
	width time.Duration
	cells []cell // of one width each, since the start
	live  live

	inFlight atomic.Int64
	_        [64]byte // the next shard is in another line of the processor's cache
}

// cell is a point of the timeline.
type cell struct {
	begun, late, dropped, right int64
	errors                      map[string]int64
	out, in                     int64
	unmetered                   bool
	service, intended           spread
}

// Sample counts a call.
func (c *Collector) Sample(s load.Sample) {
	sh := c.shard(s.Caller)
	sh.mu.Lock()
	defer sh.mu.Unlock()
	if c.config.Live {
		sh.live.add(&s)
	}
	if s.Dropped {
		sh.cell(s.End).dropped++
		return
	}
	begin := sh.cell(s.Begin)
	begin.begun++
	if s.Begin-s.Scheduled > load.LateAfter {
		begin.late++
	}
	if !s.Censored {
		sh.cell(s.End).end(&s, c.config.Open)
	}
}

// shard is a caller's. Calls that were given up at the end of a load are nobody's, -1.
func (c *Collector) shard(caller int) *shard { return &c.shards[max(0, caller)%len(c.shards)] }

// end counts a call that ended.
func (c *cell) end(s *load.Sample, open bool) {
	if s.Out < 0 || s.In < 0 {
		c.unmetered = true
	}
	c.out, c.in = c.out+s.Out, c.in+s.In
	if s.Err != "" {
		if c.errors == nil {
			c.errors = map[string]int64{}
		}
		c.errors[s.Err]++
		return
	}
	c.right++
	c.service.add(int64(s.End - s.Begin))
	if open {
		c.intended.add(int64(s.End - s.Scheduled))
	}
}

// cell is the one of a time. It is valid until the next call.
func (s *shard) cell(at time.Duration) *cell {
	for at >= MaxPoints*s.width {
		s.widen(2 * s.width)
	}
	i := int(max(0, at) / s.width)
	for i >= len(s.cells) {
		s.cells = append(s.cells, cell{})
	}
	return &s.cells[i]
}

// widen makes cells wider, which are then fewer.
func (s *shard) widen(width time.Duration) {
	for ; s.width < width; s.width *= 2 {
		for i := range s.cells {
			if i > 0 && i%2 == 0 {
				s.cells[i/2] = s.cells[i]
			} else if i%2 == 1 {
				s.cells[i/2].merge(&s.cells[i])
			}
		}
		half := (len(s.cells) + 1) / 2
		clear(s.cells[half:])
		s.cells = s.cells[:half]
	}
}

func (c *cell) merge(other *cell) {
	c.begun, c.late, c.dropped, c.right = c.begun+other.begun, c.late+other.late, c.dropped+other.dropped, c.right+other.right
	for kind, n := range other.errors {
		if c.errors == nil {
			c.errors = map[string]int64{}
		}
		c.errors[kind] += n
	}
	c.out, c.in, c.unmetered = c.out+other.out, c.in+other.in, c.unmetered || other.unmetered
	c.service.merge(&other.service)
	c.intended.merge(&other.intended)
}

// Timeline is what was collected of a load whose measured time was so many
// seconds, [load.Result]'s. The collector can be used no more.
func (c *Collector) Timeline(seconds float64) []record.Second {
	whole := shard{width: time.Second}
	for i := range c.shards {
		whole.merge(&c.shards[i])
	}
	// A call that ended with the measured time itself is of the last point.
	last := max(0, int((seconds*float64(time.Second)-1)/float64(whole.width)))
	for len(whole.cells) > last+1 {
		end := len(whole.cells) - 1
		whole.cells[end-1].merge(&whole.cells[end])
		whole.cells = whole.cells[:end]
	}
	var points []record.Second
	var inFlight int64
	width := whole.width.Seconds()
	for i := range last + 1 {
		var p record.Second
		if i < len(whole.cells) {
			p = whole.cells[i].point()
			inFlight += p.Begun - p.Right - sum(p.Errors)
		}
		p.At = float64(i) * width
		p.Seconds, p.InFlight = min(width, seconds-p.At), inFlight
		points = append(points, p)
	}
	return points
}

// merge adds what another shard has, and is then as wide as the wider one.
func (s *shard) merge(other *shard) {
	other.mu.Lock()
	defer other.mu.Unlock()
	width := max(s.width, other.width)
	s.widen(width)
	other.widen(width)
	for i := range other.cells {
		s.cell(time.Duration(i) * width).merge(&other.cells[i])
	}
}

func (c *cell) point() record.Second {
	p := record.Second{
		Begun: c.begun, Late: c.late, Dropped: c.dropped, Right: c.right, Errors: c.errors, Out: c.out, In: c.in,
		Service: c.service.record(), Intended: c.intended.record(),
	}
	if c.unmetered {
		p.Out, p.In = -1, -1
	}
	return p
}

func sum(errors map[string]int64) (n int64) {
	for _, v := range errors {
		n += v
	}
	return n
}
