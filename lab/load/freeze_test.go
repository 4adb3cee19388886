package load

import (
	"context"
	"io"
	"math"
	"net"
	"os"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/record"
	"github.com/everywire/everywire/service/arith"
)

// A frozen server answers nothing for a part of every period. It is why there are
// open loops: a closed one asks it little while it is frozen, so that most of what
// users would wait is never measured (coordinated omission).
type frozen struct {
	period, from, until time.Duration // in each period it is frozen from … until
	service             time.Duration // what a call takes otherwise
	gap                 time.Duration // between calls
	callers             int
}

// left is for how long the server is frozen still.
func (f *frozen) left(since time.Duration) time.Duration {
	if into := since % f.period; into >= f.from && into < f.until {
		return f.until - into
	}
	return 0
}

// waits are the intended times of all the calls of a period, sorted, and how many of
// them begin late.
//
// Calls come evenly. The first of a freeze that find a caller free begin at once and
// block, one for each caller; the others wait. When the server thaws, each caller
// takes a call every service time, so that call k of the freeze ends after k/callers
// services, rounded up, while further calls come more slowly than those are worked
// off. That ends with the call that comes when all before it have begun: k · gap >=
// freeze + k/callers · service. All the other calls of the period take the service
// time.
func (f *frozen) waits() (times []time.Duration, late int64) {
	freeze := f.until - f.from
	for k := range int(f.period / f.gap) {
		thaw := freeze + time.Duration(k/f.callers)*f.service
		due := time.Duration(k) * f.gap
		if due >= thaw {
			times = append(times, f.service)
			continue
		}
		times = append(times, thaw+f.service-due)
		if begin := thaw; k >= f.callers && begin-due > LateAfter {
			late++
		}
	}
	slices.Sort(times)
	return times, late
}

// compare compares percentiles with those of the arithmetic.
func (f *frozen) compare(t *testing.T, intended *record.Hist, percentiles []float64, within float64) {
	t.Helper()
	waits, _ := f.waits()
	for _, p := range percentiles {
		want := float64(waits[int(math.Ceil(p/100*float64(len(waits))))-1])
		if got := float64(intended.Percentile(p)); math.Abs(got-want) > within*want {
			t.Errorf("p%g of the intended time is %.3f ms, the arithmetic says %.3f ms", p, got/1e6, want/1e6)
		}
	}
}

// A server freezes for one second of every ten. The intended times show it as users
// would meet it; the service times of the same calls show nothing until beyond the
// 99.9th percentile, for only one call of each caller meets a freeze.
func TestFreezesAreInIntendedTime(t *testing.T) {
	f := &frozen{
		period: 10 * time.Second, from: 4 * time.Second, until: 5 * time.Second,
		service: 100 * time.Microsecond, gap: time.Millisecond, callers: 8,
	}
	const periods = 10
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		conn := connFunc(func(_ context.Context, in *arith.SumRequest, out *arith.SumReply) error {
			time.Sleep(f.left(time.Since(start)) + f.service)
			add(in, out)
			return nil
		})
		r, err := Run(t.Context(), Config{
			Conn: conn, Workload: Sum(), Callers: f.callers, For: periods * f.period, Shape: steady(1000, periods*f.period), sleeper: inBubble,
		})
		if err != nil {
			t.Fatal(err)
		}
		_, late := f.waits()
		if n := int64(periods * 10_000); r.Scheduled != n || r.Latency.Count() != n || r.Late != periods*late || r.PacerLate != 0 {
			t.Errorf("%d scheduled, %d right, %d late, %d by the pacer; want %d, all right, %d late, none by the pacer",
				r.Scheduled, r.Latency.Count(), r.Late, r.PacerLate, n, periods*late)
		}
		f.compare(t, &r.Intended, []float64{50, 89, 90, 91, 92, 95, 98, 99, 99.5, 99.9, 100}, 0.02)
		// Three digits, so within a tenth of a percent.
		for _, p := range []float64{50, 99, 99.9} {
			if got := r.Latency.Percentile(p); math.Abs(float64(got)-float64(f.service)) > 0.001*float64(f.service) {
				t.Errorf("p%g of the service time is %v: a freeze is to be one call of each caller", p, time.Duration(got))
			}
		}
		if got := r.Latency.Percentile(99.95); got < int64(900*time.Millisecond) {
			t.Errorf("p99.95 of the service time is %v: these are the calls that a freeze met", time.Duration(got))
		}
	})
}

// byteConn is a call over a socket of its own: a byte there and one back.
type byteConn struct{ net.Conn }

func (c byteConn) Invoke(context.Context, string, any, any, ...grpc.CallOption) error {
	var b [1]byte
	if _, err := c.Write(b[:]); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	if _, err := io.ReadFull(c, b[:]); err != nil {
		return status.Error(codes.Unavailable, err.Error())
	}
	return nil
}

func (byteConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

// echoBytes is a server that echoes, after what wait says.
func echoBytes(t *testing.T, wait func() time.Duration) (dial func() net.Conn) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var serving sync.WaitGroup
	t.Cleanup(func() { _ = l.Close(); serving.Wait() })
	serving.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer func() { _ = conn.Close() }()
				var b [1]byte
				for {
					if _, err := io.ReadFull(conn, b[:]); err != nil {
						return
					}
					time.Sleep(wait())
					if _, err := conn.Write(b[:]); err != nil {
						return
					}
				}
			})
		}
	})
	return func() net.Conn {
		conn, err := net.Dial("tcp", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = conn.Close() })
		return conn
	}
}

// The same in real time, over TCP. Calls take so little beside the freeze that their
// time is taken to be none, also when those that have waited are worked off: hence no
// more than 500 a second. It is run by hand.
func TestFreezesInRealTime(t *testing.T) {
	if os.Getenv("EVERYWIRE_LONG") == "" {
		t.Skip("takes 30 seconds and a machine that does nothing else: set EVERYWIRE_LONG")
	}
	f := &frozen{period: 10 * time.Second, from: 4 * time.Second, until: 5 * time.Second, gap: 2 * time.Millisecond, callers: 16}
	const periods = 3
	var once sync.Once
	var start time.Time
	dial := echoBytes(t, func() time.Duration {
		once.Do(func() { start = time.Now() })
		return f.left(time.Since(start))
	})
	r, err := Run(t.Context(), Config{
		Workload: Ping(), Callers: f.callers, For: periods * f.period, Shape: steady(500, periods*f.period),
		Each: func(int) (grpc.ClientConnInterface, Meter, error) { return byteConn{dial()}, nil, nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("generator late by p50 %v, p99 %v, %d of %d calls by more than %v", time.Duration(r.Lag.Percentile(50)), time.Duration(r.Lag.Percentile(99)),
		r.PacerLate, r.Scheduled, LateAfter)
	if text := r.Void(0, time.Second, 1); text != "" {
		t.Fatal(text)
	}
	if n := int64(periods * 5000); r.Scheduled != n || r.Latency.Count() != n {
		t.Errorf("%d scheduled, %d right, want %d", r.Scheduled, r.Latency.Count(), n)
	}
	f.compare(t, &r.Intended, []float64{92, 93, 95, 97, 98, 99, 99.5}, 0.02)
	if got := r.Latency.Percentile(98); got > int64(20*time.Millisecond) {
		t.Errorf("p98 of the service time is %v: one call of each caller meets a freeze", time.Duration(got))
	}
}
