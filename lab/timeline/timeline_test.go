package timeline

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/lab/load"
	"github.com/everywire/everywire/lab/record"
)

// near reports whether a time is the exact one but for the buckets' width.
func near(got, exact int64) bool {
	return math.Abs(float64(got-exact)) <= max(1, float64(exact)*0.01)
}

// Every time up to the longest is within 1 % of its bucket's middle.
func TestBuckets(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ns := int64(rapid.Uint64Range(0, longest).Draw(t, "ns"))
		ns >>= rapid.IntRange(0, 40).Draw(t, "shift")
		power, bucket := place(ns)
		if m := middle(power, bucket); !near(m, ns) {
			t.Fatalf("%d ns is in a bucket around %d", ns, m)
		}
	})
	for _, ns := range []int64{-5, 0, 63, 64, 65, 127, 128, longest, longest + 1, math.MaxInt64} {
		power, bucket := place(ns)
		if m := middle(power, bucket); !near(m, min(max(ns, 0), longest)) {
			t.Errorf("%d ns is in a bucket around %d", ns, m)
		}
	}
}

// genSamples makes samples of a load of so many seconds.
func genSamples(t *rapid.T, callers int, seconds float64, open bool) []load.Sample {
	end := time.Duration(seconds * float64(time.Second))
	at := rapid.Int64Range(0, int64(end)-1)
	n := rapid.IntRange(0, 200).Draw(t, "samples")
	samples := make([]load.Sample, 0, n)
	for range n {
		s := load.Sample{Caller: rapid.IntRange(0, callers-1).Draw(t, "caller"), Scheduled: time.Duration(at.Draw(t, "at")), Out: 100, In: 7}
		s.Begin = s.Scheduled
		if open {
			s.Begin = min(end-1, s.Begin+time.Duration(rapid.Int64Range(0, 3e6).Draw(t, "wait")))
		}
		s.End = s.Begin + time.Duration(rapid.Int64Range(0, int64(end)/2).Draw(t, "took"))
		switch rapid.IntRange(0, 9).Draw(t, "kind") {
		case 0:
			s.Err = "UNAVAILABLE"
		case 1:
			s.Err, s.Out, s.In = load.WrongReply, -1, -1
		case 2:
			if open {
				s.End, s.Dropped = s.Begin, true
			}
		case 3:
			if open { // given up at the end, when it was nobody's
				s.End, s.Dropped, s.Caller = s.Begin, true, -1
			}
		}
		s.Censored = s.End > end
		samples = append(samples, s)
	}
	return samples
}

// model is a timeline made in the plainest way.
func model(samples []load.Sample, seconds float64, open bool) []record.Second {
	var latest time.Duration
	for _, s := range samples {
		latest = max(latest, s.Begin)
		if !s.Censored {
			latest = max(latest, s.End)
		}
	}
	width := time.Second
	for latest >= MaxPoints*width {
		width *= 2
	}
	end := time.Duration(seconds * float64(time.Second))
	var points []record.Second
	for from := time.Duration(0); from < end; from += width {
		to := min(from+width, end)
		p := record.Second{At: from.Seconds(), Seconds: (to - from).Seconds()}
		in := func(at time.Duration) bool { return from <= at && (at < to || to == end) }
		var service, intended []int64
		for _, s := range samples {
			if s.Dropped {
				if in(s.End) {
					p.Dropped++
				}
				continue
			}
			if in(s.Begin) {
				p.Begun++
				if s.Begin-s.Scheduled > time.Millisecond {
					p.Late++
				}
			}
			if (s.Begin < to || to == end) && (s.Censored || s.End >= to && to != end) {
				p.InFlight++
			}
			if s.Censored || !in(s.End) {
				continue
			}
			if p.Out >= 0 {
				p.Out, p.In = p.Out+s.Out, p.In+s.In
			}
			if s.Out < 0 {
				p.Out, p.In = -1, -1
			}
			if s.Err != "" {
				if p.Errors == nil {
					p.Errors = map[string]int64{}
				}
				p.Errors[s.Err]++
				continue
			}
			p.Right++
			service = append(service, int64(s.End-s.Begin))
			if open {
				intended = append(intended, int64(s.End-s.Scheduled))
			}
		}
		p.Service, p.Intended = exact(service), exact(intended)
		points = append(points, p)
	}
	return points
}

func exact(times []int64) record.Spread {
	if len(times) == 0 {
		return record.Spread{}
	}
	slices.Sort(times)
	var sum int64
	for _, ns := range times {
		sum += ns
	}
	rank := func(p int) int64 { return times[(len(times)*p+99)/100-1] }
	return record.Spread{Mean: sum / int64(len(times)), P50: rank(50), P99: rank(99), Max: times[len(times)-1]}
}

// same compares points; percentiles are within 1 %.
func same(got, want record.Second) bool {
	for _, s := range [][2]*record.Spread{{&got.Service, &want.Service}, {&got.Intended, &want.Intended}} {
		if !near(s[0].P50, min(s[1].P50, longest)) || !near(s[0].P99, min(s[1].P99, longest)) {
			return false
		}
		s[0].P50, s[0].P99 = s[1].P50, s[1].P99
	}
	if math.Abs(got.Seconds-want.Seconds) > 1e-6 || math.Abs(got.At-want.At) > 1e-6 {
		return false
	}
	got.At, got.Seconds = want.At, want.Seconds
	return fmt.Sprintf("%+v", got) == fmt.Sprintf("%+v", want)
}

func TestAgainstModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		callers, open := rapid.IntRange(1, 40).Draw(t, "callers"), rapid.Bool().Draw(t, "open")
		seconds := rapid.SampledFrom([]float64{0.25, 1, 1.5, 9, 600, 601, 1000, 4000}).Draw(t, "seconds")
		samples := genSamples(t, callers, seconds, open)
		c := New(Config{Callers: callers, Open: open})
		for _, s := range samples {
			c.Sample(s)
		}
		got, want := c.Timeline(seconds), model(samples, seconds, open)
		if len(got) != len(want) {
			t.Fatalf("%d points, want %d", len(got), len(want))
		}
		for i := range want {
			if !same(got[i], want[i]) {
				t.Fatalf("point %d:\n got %+v\nwant %+v", i, got[i], want[i])
			}
		}
	})
}

// Many callers at once lose nothing, and a look is what it should be at any time.
func TestManyCallers(t *testing.T) {
	const callers, each = 50, 400
	c := New(Config{Callers: callers, Live: true})
	var wg sync.WaitGroup
	for i := range callers {
		wg.Go(func() {
			for j := range each {
				at := time.Duration(j) * 10 * time.Millisecond
				c.Sample(load.Sample{Caller: i, Scheduled: at, Begin: at, End: at + 9*time.Millisecond, Out: 1, In: 2})
			}
		})
	}
	for range 20 {
		if l := c.Live(); l.Right > callers*each || l.Errors != 0 || l.InFlight != -1 {
			t.Errorf("%+v", l)
		}
		runtime.Gosched()
	}
	wg.Wait()
	if l := c.Live(); l.Right != callers*each {
		t.Errorf("%d replies, want %d", l.Right, callers*each)
	}
	var right, in int64
	points := c.Timeline(4)
	for _, p := range points {
		right, in = right+p.Right, in+p.In
	}
	if len(points) != 4 || right != callers*each || in != 2*right || points[3].InFlight != 0 {
		t.Errorf("%d points with %d replies and %d bytes, %d in flight at the end", len(points), right, in, points[3].InFlight)
	}
}

// Nothing is allocated but for the first call of a second.
func TestSampleAllocatesNothing(t *testing.T) {
	c := New(Config{Callers: 1, Open: true, Live: true})
	s := load.Sample{Scheduled: time.Second, Begin: time.Second + 5, End: time.Second + 1e6}
	if n := testing.AllocsPerRun(1000, func() { c.Sample(s) }); n != 0 {
		t.Errorf("%v allocations a call", n)
	}
}

// A look sees the last second, however often one looks.
func TestLive(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := New(Config{Callers: 3, Live: true})
		start := time.Now()
		call := func(took time.Duration, err string) {
			now := time.Since(start)
			c.Sample(load.Sample{Scheduled: now - took, Begin: now - took, End: now, Err: err})
		}
		call(5*time.Second, "")
		if l := c.Live(); l.Right != 1 || l.Rate != 0 || l.P50 != 0 || l.Replies != 0 {
			t.Errorf("the first look: %+v", l)
		}
		for range 20 { // five seconds, 40 calls a second, two in five fail
			for range 10 {
				time.Sleep(25 * time.Millisecond)
				call(10*time.Millisecond, "")
				if time.Since(start)%(50*time.Millisecond) == 0 {
					call(time.Millisecond, "UNAVAILABLE")
				}
			}
			c.Live()
		}
		l := c.Live()
		if l.Right != 201 || l.Errors != 100 || math.Abs(l.Rate-40) > 0.1 || l.Replies != 40 || !near(int64(l.P50), 1e7) || !near(int64(l.P99), 1e7) {
			t.Errorf("while it runs: %+v", l)
		}
		for range 5 {
			time.Sleep(250 * time.Millisecond)
			l = c.Live()
		}
		if l.Rate != 0 || l.P99 != 0 || l.Right != 201 {
			t.Errorf("a second after the last call: %+v", l)
		}
		c.Sample(load.Sample{Scheduled: 1, Begin: 1, End: 1e9, Dropped: true})
		c.Sample(load.Sample{Scheduled: 1, Begin: 3e6, End: 1e9})
		c.Sample(load.Sample{Scheduled: 1, Begin: 1, End: 1e18, Censored: true})
		if l := c.Live(); l.Dropped != 1 || l.Late != 1 || l.Right != 202 {
			t.Errorf("%+v", l)
		}
	})
}

// blocking is a connection whose calls stay open until they may end.
type blocking struct {
	grpc.ClientConnInterface
	in, out chan struct{}
}

func (b blocking) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	b.in <- struct{}{}
	<-b.out
	return nil
}

func TestInFlight(t *testing.T) {
	c := New(Config{Callers: 9, Live: true})
	b := blocking{in: make(chan struct{}), out: make(chan struct{})}
	var wg sync.WaitGroup
	for i := range 9 {
		conn := c.Conn(i, b)
		wg.Go(func() { _ = conn.Invoke(t.Context(), "/a/b", nil, nil) })
	}
	for range 9 {
		<-b.in
	}
	if l := c.Live(); l.InFlight != 9 {
		t.Errorf("%d in flight, want 9", l.InFlight)
	}
	close(b.out)
	wg.Wait()
	if l := c.Live(); l.InFlight != 0 {
		t.Errorf("%d in flight, want 0", l.InFlight)
	}
}

func BenchmarkSample(b *testing.B) {
	c := New(Config{Callers: 64, Open: true, Live: true})
	b.ReportAllocs()
	var mu sync.Mutex
	caller := 0
	b.RunParallel(func(pb *testing.PB) {
		mu.Lock()
		caller++
		s := load.Sample{Caller: caller, Scheduled: 5e8}
		mu.Unlock()
		for i := 0; pb.Next(); i++ {
			s.Begin, s.End = 6e8, 7e8+time.Duration(i%1000)*1000
			c.Sample(s)
		}
	})
}
