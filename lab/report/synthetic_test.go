package report

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// synthetic makes records of runs that nobody made: what each arm costs is
// given, the noise comes from a fixed seed.
type synthetic struct {
	plan plan.Plan
	cost map[string]cost
	// change may alter a trial before it is recorded; false leaves it out.
	change func(*record.Trial) bool
	end    *record.End
}

// cost is what one call of an arm costs at 1 caller.
type cost struct {
	micros          float64 // time of a call
	server, client  float64 // CPU, in microseconds
	out, in         int64   // payload bytes
	packets         int64   // each way
	conns           float64 // connections per call
	ceiling, spread float64 // calls/s at many callers; width of latencies
}

var classic = []plan.Arm{
	{Name: "rest", Kind: plan.Wire, Target: "rest"},
	{Name: "rest (again)", Kind: plan.Wire, Target: "rest", Again: true},
	{Name: "rest?reconnect", Kind: plan.Wire, Target: "rest?reconnect"},
	{Name: "jsonrpc+http", Kind: plan.Wire, Target: "jsonrpc+http"},
	{Name: "jsonrpc+tcp", Kind: plan.Wire, Target: "jsonrpc+tcp"},
	{Name: "msgpackrpc+tcp", Kind: plan.Wire, Target: "msgpackrpc+tcp"},
	{Name: "grpc", Kind: plan.Wire, Target: "grpc"},
	{Name: "grpc?codec=json", Kind: plan.Wire, Target: "grpc?codec=json"},
	{Name: "net/http", Kind: plan.Reference, Target: "net/http", Beside: "rest"},
	{Name: "grpc-go", Kind: plan.Reference, Target: "grpc-go", Beside: "grpc"},
	{Name: "jrpc2", Kind: plan.Reference, Target: "jrpc2", Beside: "jsonrpc+tcp"},
	{Name: "ping", Kind: plan.Ping, Target: "ping"},
}

var classicCost = map[string]cost{
	"rest":            {micros: 96, server: 42, client: 48, out: 150, in: 121, packets: 1, ceiling: 21000, spread: 0.30},
	"rest (again)":    {micros: 96, server: 42, client: 48, out: 150, in: 121, packets: 1, ceiling: 21000, spread: 0.30},
	"rest?reconnect":  {micros: 310, server: 130, client: 150, out: 169, in: 140, packets: 5, conns: 1, ceiling: 6900, spread: 0.35},
	"jsonrpc+http":    {micros: 97.5, server: 43, client: 49, out: 207, in: 141, packets: 1, ceiling: 20700, spread: 0.30},
	"jsonrpc+tcp":     {micros: 31, server: 12, client: 13, out: 59, in: 39, packets: 1, ceiling: 83000, spread: 0.22},
	"msgpackrpc+tcp":  {micros: 28, server: 10, client: 11, out: 12, in: 6, packets: 1, ceiling: 96000, spread: 0.22},
	"grpc":            {micros: 118, server: 58, client: 61, out: 92, in: 71, packets: 2, ceiling: 32000, spread: 0.33},
	"grpc?codec=json": {micros: 121, server: 60, client: 63, out: 101, in: 79, packets: 2, ceiling: 31000, spread: 0.33},
	"net/http":        {micros: 92, server: 40, client: 46, out: 150, in: 121, packets: 1, ceiling: 22000, spread: 0.30},
	"grpc-go":         {micros: 115, server: 57, client: 60, out: 92, in: 71, packets: 2, ceiling: 32800, spread: 0.33},
	"jrpc2":           {micros: 39, server: 16, client: 17, out: 59, in: 39, packets: 1, ceiling: 60000, spread: 0.25},
	"ping":            {micros: 19, server: 5, client: 5, out: 32, in: 32, packets: 1, ceiling: 180000, spread: 0.15},
}

func classicPlan(blocks int, callers ...int) plan.Plan {
	return plan.Plan{
		Service: "arith", Arms: classic, Baseline: "rest", Callers: callers, Blocks: blocks,
		Warmup: 100 * time.Millisecond, Measure: 350 * time.Millisecond, Seed: 7, MaxMessage: 4 << 20,
	}
}

func (s synthetic) run() *record.Run {
	start := time.Date(2026, 11, 30, 14, 0, 0, 0, time.UTC)
	run := &record.Run{
		Header: record.Header{
			Type: record.TypeHeader, Format: record.Format, Started: start,
			Build: record.Build{Version: "v0.1.0", Commit: "0123456789abcdef0123456789abcdef01234567", Dirty: true, Go: "go1.26.8",
				Modules: map[string]string{"google.golang.org/grpc": "v1.85.0", "github.com/creachadair/jrpc2": "v1.3.6"}},
			Machine: record.Machine{OS: "linux", Arch: "amd64", Kernel: "6.12.0", CPU: "Example CPU @ 2.50GHz", Cores: 2, ServerCores: "0", ClientCores: "1"},
			Plan:    s.plan,
		},
		End: s.end,
	}
	rng := rand.New(rand.NewPCG(1, 2))
	at := start
	for b := range s.plan.Blocks {
		drift := math.Exp(0.08 * math.Sin(float64(b)))
		for _, i := range s.plan.Order(b) {
			arm, link := s.plan.Turn(i)
			for _, callers := range s.plan.Callers {
				at = at.Add(s.plan.Warmup + s.plan.Measure)
				t := s.trial(rng, arm.Name, link, b, callers, drift)
				t.Started = at
				if s.change == nil || s.change(t) {
					run.Trials = append(run.Trials, *t)
				}
			}
		}
	}
	return run
}

// trial draws one trial: a rate with noise, and latencies around it.
func (s synthetic) trial(rng *rand.Rand, arm, link string, block, callers int, drift float64) *record.Trial {
	c := s.cost[arm]
	if link != plan.Loopback {
		c.micros, c.spread = c.micros+142_700*(1+c.conns), 0.001
	}
	perSecond := 1e6 / c.micros
	if callers > 1 {
		perSecond = min(c.ceiling, perSecond*float64(callers))
	}
	perSecond *= math.Exp(0.012*rng.NormFloat64()) / drift
	seconds := s.plan.Measure.Seconds()
	t := &record.Trial{
		Type: record.TypeTrial, Block: block, Arm: arm, Callers: callers, Seconds: seconds,
		Calls: int64(perSecond * seconds), Censored: int64(callers),
	}
	mean := float64(callers) / perSecond * 1e9
	left := t.Calls
	var pairs [][2]int64
	for step := -8; step <= 24; step++ {
		z := float64(step) / 4
		share := math.Exp(-z*z/2) / math.Sqrt(2*math.Pi) / 4
		if z > 2 {
			share = math.Exp(-z) * 0.045
		}
		n := min(left, int64(share*float64(t.Calls)))
		pairs = append(pairs, [2]int64{int64(mean * math.Exp(c.spread*z)), n})
		left -= n
	}
	pairs = append(pairs, [2]int64{int64(mean), left})
	data, _ := json.Marshal(pairs)
	_ = t.Latency.UnmarshalJSON(data)
	ended := t.Ended()
	calls := float64(ended)
	t.ServerCPU, t.ClientCPU = calls*c.server/1e6, calls*c.client/1e6
	if callers > 1 {
		t.ServerCPU, t.ClientCPU = min(t.ServerCPU, 0.97*seconds), min(t.ClientCPU, 0.99*seconds)
	}
	t.Net = &record.Net{
		Conns: int64(c.conns * calls), PayloadOut: c.out * ended, PayloadIn: c.in * ended,
		PacketsOut: c.packets * ended, PacketsIn: c.packets * ended,
	}
	if link != plan.Loopback {
		t.Link = link
		t.Emulated = &record.Emulated{
			Asked: 142_500_000, RTT: 142_612_000 + int64(block)*1000, Late: 45_000, LostOut: ended / 50, LostIn: 1,
			ACKsOut: ended / 2, ACKsIn: ended / 2, Retransmits: ended / 50,
		}
	}
	t.Net.WireOut = t.Net.PayloadOut + 52*t.Net.PacketsOut
	t.Net.WireIn = t.Net.PayloadIn + 52*t.Net.PacketsIn
	return t
}

var done = &record.End{Type: record.TypeEnd, Ended: time.Date(2026, 11, 30, 14, 2, 3, 0, time.UTC)}
