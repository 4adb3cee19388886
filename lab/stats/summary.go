package stats

import (
	"cmp"
	"maps"
	"math"
	"slices"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// A Summary is all that can be said about a run.
type Summary struct {
	Loads []Load // in the plan's order
}

// A Load is what one number of callers gave over one link.
type Load struct {
	Callers int
	// Link is one of the plan's.
	Link string
	// Emulated is what the link did, nil for loopback. CPU figures come from
	// loopback only: over an emulated link most of the CPU time is the
	// emulation's own TCP, and all of them are NaN.
	Emulated *Emulated
	Arms     []Arm // in the plan's order
	// Parts take the ratios of wire arms apart, where references allow.
	Parts []Part
	// Compared is the size of the family that Holm's correction is over, and
	// Needed the least number of blocks with which any of it can be called
	// different.
	Compared, Needed int
	// MaxBlocks is the largest number of blocks that any compared arm has.
	MaxBlocks int
	// Floor is the second run of the baseline against the first, nil if the
	// plan has none.
	Floor *Floor
}

// Arm returns the arm with the given name, or nil.
func (l *Load) Arm(name string) *Arm {
	if i := slices.IndexFunc(l.Arms, func(a Arm) bool { return a.Name == name }); i >= 0 {
		return &l.Arms[i]
	}
	return nil
}

// A Floor is the noise that two runs of the same arm show.
type Floor struct {
	Arm   string
	Ratio Ratio
	// Moved is set if the sign test alone, without correction, says that the
	// two runs differ by more than the band: something other than the arm moved
	// the numbers.
	Moved bool
}

// An Arm is one arm under one load. A figure that cannot be known is NaN.
type Arm struct {
	plan.Arm
	Baseline bool

	// Trials is how many trials the record holds, Void how many of them do not
	// count, and Voids how many for which reason. All that follows is of those
	// that count.
	Trials, Void int
	Voids        map[string]int

	// Rates are the correct replies per second of each block, with the shares of
	// those cut off by its end; Rate is their median.
	Rates []Block
	Rate  float64
	// Ratio is Rate over the baseline's; empty for the baseline itself.
	Ratio Ratio
	// Test is nil for arms that are not compared.
	Test *Test

	Calls    int64 // correct replies
	Latency  record.Hist
	Censored int64 // calls still open when their trial ended
	// Errors counts what was not a correct reply by kind; FirstError is the text
	// of the first.
	Errors     map[string]int64
	ErrorCount int64
	FirstError string

	// ServerCPU and ClientCPU are CPU seconds per call.
	ServerCPU, ClientCPU float64
	// ServerCores and ClientCores are how many cores each end kept busy.
	ServerCores, ClientCores float64
	PerCall                  PerCall
}

// PerCall is what crossed the client's sockets, divided by the calls. Out is
// towards the server. Payload is that of TCP; Wire adds IP and TCP headers.
type PerCall struct {
	PayloadOut, PayloadIn float64
	WireOut, WireIn       float64
	PacketsOut, PacketsIn float64
	Conns                 float64
}

// Summarize computes everything from the record.
func Summarize(run *record.Run) *Summary {
	s := &Summary{}
	for _, link := range run.Header.Plan.Networks() {
		for _, callers := range run.Header.Plan.Callers {
			s.Loads = append(s.Loads, summarizeLoad(run, link, callers))
		}
	}
	return s
}

func summarizeLoad(run *record.Run, link string, callers int) Load {
	p := &run.Header.Plan
	l := Load{Callers: callers, Link: link}
	var all []*record.Trial
	for _, a := range p.Arms {
		var trials []*record.Trial
		for i := range run.Trials {
			if t := &run.Trials[i]; t.Arm == a.Name && t.Callers == callers && t.Network() == link {
				trials = append(trials, t)
			}
		}
		l.Arms = append(l.Arms, summarizeArm(a, trials))
		all = append(all, trials...)
	}
	if link != plan.Loopback {
		l.Emulated = summarizeLink(all)
		for i := range l.Arms {
			l.Arms[i].forgetCPU()
		}
	}
	if base := l.Arm(p.Baseline); base != nil {
		base.Baseline = true
		l.compare(base)
		l.parts(base)
	}
	return l
}

func summarizeArm(a plan.Arm, trials []*record.Trial) Arm {
	arm := Arm{Arm: a, Trials: len(trials), Voids: map[string]int{}, Errors: map[string]int64{}}
	var seconds, server, client float64
	var ended int64
	var net netSums
	for _, t := range trials {
		if t.Void != "" {
			arm.Void++
			arm.Voids[t.Void]++
			continue
		}
		arm.Rates = append(arm.Rates, Block{t.Block, (float64(t.Calls) + t.OpenShare) / t.Seconds})
		arm.Calls += t.Calls
		ended += t.Ended()
		arm.Censored += t.Censored
		arm.Latency.Merge(&t.Latency)
		for kind, n := range t.Errors {
			arm.Errors[kind] += n
			arm.ErrorCount += n
		}
		if arm.FirstError == "" {
			arm.FirstError = t.FirstError
		}
		seconds += t.Seconds
		server += t.ServerCPU
		client += t.ClientCPU
		net.add(t)
	}
	slices.SortFunc(arm.Rates, func(a, b Block) int { return a.Block - b.Block })
	arm.Rate = Median(values(arm.Rates))
	if arm.Calls == 0 {
		ended, net = 0, netSums{} // what failing costs is no figure of the wire
	}
	arm.ServerCPU, arm.ClientCPU = over(server, ended), over(client, ended)
	arm.ServerCores, arm.ClientCores = math.NaN(), math.NaN()
	if seconds > 0 {
		arm.ServerCores, arm.ClientCores = server/seconds, client/seconds
	}
	arm.PerCall = net.perCall()
	return arm
}

// compare fills in the ratios to the baseline and what may be called
// different.
func (l *Load) compare(base *Arm) {
	var family []*Test
	for i := range l.Arms {
		a := &l.Arms[i]
		if a.Baseline {
			continue
		}
		a.Ratio = paired(a.Rates, base.Rates)
		if a.Again {
			alone := signTest(a.Ratio.Values())
			l.Floor = &Floor{Arm: a.Name, Ratio: a.Ratio, Moved: alone.P <= Alpha}
			continue
		}
		if a.Kind == plan.Ping {
			continue
		}
		t := signTest(a.Ratio.Values())
		if a.Unfit() || base.Unfit() {
			t.P = 1
		}
		a.Test = &t
		family = append(family, a.Test)
		l.MaxBlocks = max(l.MaxBlocks, len(a.Ratio.Blocks))
	}
	correct(family)
	l.Compared, l.Needed = len(family), BlocksNeeded(len(family))
}

// MaxErrors is the share of an arm's calls that may fail before nothing is
// claimed of its speed: failing is often quicker than answering.
const MaxErrors = 0.01

// Unfit reports whether an arm has no speed to compare: it never replied, or
// failed too often.
func (a *Arm) Unfit() bool {
	return a.Calls == 0 || float64(a.ErrorCount) > MaxErrors*float64(a.Calls+a.ErrorCount)
}

// parts pairs each wire arm with the reference beside it.
func (l *Load) parts(base *Arm) {
	var baseRef *Arm
	for i := range l.Arms {
		if a := &l.Arms[i]; a.Kind == plan.Reference && a.Beside == base.Name && baseRef == nil {
			baseRef = a
		}
	}
	for i := range l.Arms {
		ref := &l.Arms[i]
		if ref.Kind != plan.Reference || ref.Beside == "" {
			continue
		}
		arm := l.Arm(ref.Beside)
		if arm == nil {
			continue
		}
		part := Part{Arm: arm.Name, Reference: ref.Name, Baseline: base.Name, Ours: paired(arm.Rates, ref.Rates)}
		part.Wire, part.BaseOurs, part.Implementation = newRatio(nil), newRatio(nil), newRatio(nil)
		if baseRef != nil {
			part.BaseReference = baseRef.Name
			part.Wire = paired(ref.Rates, baseRef.Rates)
			part.BaseOurs = paired(base.Rates, baseRef.Rates)
			part.Implementation = paired(part.Ours.Blocks, part.BaseOurs.Blocks)
		}
		l.Parts = append(l.Parts, part)
	}
}

// Kinds are the kinds of the arm's errors, most frequent first.
func (a *Arm) Kinds() []string {
	return slices.SortedFunc(maps.Keys(a.Errors), func(x, y string) int {
		return cmp.Or(cmp.Compare(a.Errors[y], a.Errors[x]), cmp.Compare(x, y))
	})
}

func values(blocks []Block) []float64 {
	return Ratio{Blocks: blocks}.Values()
}

// over divides by a number of calls; NaN if there were none.
func over(sum float64, calls int64) float64 {
	if calls == 0 {
		return math.NaN()
	}
	return sum / float64(calls)
}
