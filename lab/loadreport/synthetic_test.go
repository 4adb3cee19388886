package loadreport

import (
	"math"
	"math/rand/v2"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// call is one call of a load that nobody made.
type call struct {
	op                string
	due, begin, end   float64 // in seconds
	err               string
	out, in           int64
	dropped, censored bool
}

// synthetic makes the record of a load, with the calls that it is of: tests compute
// from these what the report must say.
type synthetic struct {
	shape      plan.Shape
	callers    int
	ops        []string
	n          int     // calls
	seconds    float64 // measured
	slow       float64 // the share of slow calls
	fails      float64 // the share of failed calls
	uncounted  bool    // bytes
	thresholds []string
	change     func(*record.Run)
}

func (s *synthetic) make() (*record.Run, []call) {
	rng := rand.New(rand.NewPCG(7, uint64(s.n)))
	started := time.Date(2026, 12, 1, 9, 30, 0, 0, time.UTC)
	t := record.Trial{Arm: "load", Callers: s.callers, Started: started, Seconds: s.seconds, ClientCPU: s.seconds * 0.4}
	for _, name := range s.ops {
		t.Ops = append(t.Ops, record.Op{Name: name})
	}
	if !s.uncounted {
		t.Bytes = &record.Bytes{}
	}
	calls := make([]call, 0, s.n)
	points := make([]record.Second, int(math.Ceil(s.seconds)))
	latencies := make([]record.Hist, len(points))
	for i := range points {
		points[i].At, points[i].Seconds = float64(i), math.Min(1, s.seconds-float64(i))
	}
	for i := range s.n {
		c := call{due: float64(i) / float64(s.n) * s.seconds, out: 120, in: 300 + rng.Int64N(40)}
		took := 0.0008 * math.Exp(0.3*rng.NormFloat64())
		if rng.Float64() < s.slow {
			took = 0.02 + 0.03*rng.Float64()
		}
		c.begin = c.due
		if s.shape.Open() && rng.Float64() < 0.003 {
			c.begin += 0.0015
		}
		c.end = c.begin + took
		if len(s.ops) > 0 {
			c.op = s.ops[rng.IntN(len(s.ops))]
		}
		switch u := rng.Float64(); {
		case u < s.fails*0.7:
			c.err = "UNAVAILABLE"
		case u < s.fails:
			c.err = "wrong reply"
		}
		c.censored = c.end > s.seconds
		c.dropped = s.shape.Patience > 0 && !c.censored && rng.Float64() < 0.0005
		calls = append(calls, c)
		s.count(&t, &c, points, latencies)
	}
	for i := range points {
		h := &latencies[i]
		points[i].Service = record.Spread{Mean: int64(h.Mean()), P50: h.Percentile(50), P99: h.Percentile(99), Max: h.Percentile(100)}
		if s.shape.Open() {
			points[i].Intended = points[i].Service
			points[i].Intended.P99 += 200_000
		}
	}
	t.Timeline = points
	run := &record.Run{
		Header: record.Header{
			Started: started, Build: record.Build{Version: "v0.1.0", Go: "go1.26.8"},
			Machine: record.Machine{OS: "linux", Arch: "amd64", CPU: "Test CPU", Cores: 2},
			Plan: plan.Plan{
				Service: "load", Baseline: "load", Callers: []int{s.callers}, Blocks: 1, Shape: s.shape,
				Measure: time.Duration(s.seconds * 1e9), Warmup: 2 * time.Second,
				Arms: []plan.Arm{{Name: "load", Kind: plan.Wire, Target: "grpc"}},
			},
			Load: &record.Load{Target: "grpc://shop.example:9090", Thresholds: s.thresholds},
		},
		Trials: []record.Trial{t},
		End:    &record.End{Ended: started.Add(time.Minute)},
	}
	if len(s.ops) == 0 {
		run.Header.Load.Method = "shop.Orders/Get"
	} else {
		run.Header.Load.Mix = "orders.yaml"
	}
	if s.change != nil {
		s.change(run)
	}
	return run, calls
}

// count counts a call as the engine does.
func (s *synthetic) count(t *record.Trial, c *call, points []record.Second, latencies []record.Hist) {
	open := s.shape.Open()
	if open {
		t.Scheduled++
	}
	begin := &points[int(math.Min(c.begin, s.seconds-1e-9))]
	if c.dropped {
		t.Dropped++
		begin.Dropped++
		return
	}
	begin.Begun++
	if open && c.begin-c.due > 0.001 {
		t.Late++
		t.PacerLate++
		begin.Late++
	}
	if c.censored {
		t.Censored++
		return
	}
	i := int(c.end)
	point := &points[i]
	point.Out, point.In = point.Out+c.out, point.In+c.in
	of := &record.Op{} // of nobody
	for j := range t.Ops {
		if t.Ops[j].Name == c.op {
			of = &t.Ops[j]
		}
	}
	of.Out, of.In = of.Out+c.out, of.In+c.in
	if t.Bytes == nil {
		of.Out, of.In, point.Out, point.In = -1, -1, -1, -1
	} else {
		t.Bytes.Out, t.Bytes.In = t.Bytes.Out+c.out, t.Bytes.In+c.in
	}
	if c.err != "" {
		for _, m := range []*map[string]int64{&t.Errors, &of.Errors, &point.Errors} {
			if *m == nil {
				*m = map[string]int64{}
			}
			(*m)[c.err]++
		}
		if t.FirstError == "" {
			t.FirstError = "the first\nerror's own text"
		}
		return
	}
	ns := int64(math.Round((c.end - c.begin) * 1e9))
	t.Calls++
	point.Right++
	t.Latency.Record(ns)
	t.Times.Add(ns)
	latencies[i].Record(ns)
	intended := int64(math.Round((c.end - c.due) * 1e9))
	if open {
		t.Intended.Record(intended)
		t.Lag.Record(30_000)
	}
	if len(t.Ops) > 0 {
		of.Calls++
		of.Latency.Record(ns)
		of.Times.Add(ns)
	}
	if len(t.Ops) > 0 && open {
		of.Intended.Record(intended)
	}
}

func constant(rate float64, d time.Duration) plan.Shape {
	return plan.Shape{Stages: []plan.Stage{{For: d, From: rate, To: rate}}}
}

// cases are loads of all kinds.
func cases() map[string]synthetic {
	patient := constant(1000, 20*time.Second)
	patient.Patience = 100 * time.Millisecond
	ramp := plan.Shape{Poisson: true}
	for i := range 7 {
		ramp.Stages = append(ramp.Stages, plan.Stage{For: 3 * time.Second, From: float64(1000 * i), To: float64(1000 * (i + 1))})
	}
	return map[string]synthetic{
		"closed": {callers: 8, n: 30_000, seconds: 10, slow: 0.01, thresholds: []string{"p99>40ms", "errors>1%", "rate<100"}},
		"open":   {callers: 100, shape: constant(500, 30*time.Second), n: 15_000, seconds: 30, slow: 0.02, thresholds: []string{"p99>20ms", "intended.p99<1s"}},
		"mix": {
			callers: 50, shape: patient, ops: []string{"get", "put", "search with a name that is longer than a column"}, n: 20_000, seconds: 20,
			slow: 0.02, fails: 0.03, thresholds: []string{"errors(put)>1%", "late>5%", "nonsense"},
		},
		"stages": {callers: 64, shape: ramp, n: 30_000, seconds: 20.4, slow: 0.005, fails: 0.0001},
		"few":    {callers: 1, n: 7, seconds: 0.35, uncounted: true, thresholds: []string{"p99>20ms"}},
		"broken": {callers: 2, n: 300, seconds: 3, fails: 1},
		"worst": {
			callers: 4, shape: constant(100, 10*time.Second), n: 1000, seconds: 10, fails: 0.2, thresholds: []string{"avg>1h"},
			change: func(run *record.Run) {
				t := &run.Trials[0]
				t.Void, t.PacerLate, t.Late, t.ClientCPU, t.Stolen = "the generator kept more than 90 % of its cores busy", 40, 300, 19.5, 1
				t.Unsent, t.Scheduled = 400, t.Scheduled+400
				t.Warnings = []string{"The disk of the file of calls was slow: callers waited 1.2 s for it."}
				run.End.Partial = "interrupted"
			},
		},
		"nothing": {callers: 1, n: 0, seconds: 1},
	}
}
