package reproduce

import (
	"slices"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/ref"
)

// Again is added to the name of the baseline's second run.
const Again = " (again)"

// maxMessage lets every document of the sweep pass.
const maxMessage = 16 << 20

// basic is a plan of a scale, without arms. Callers are its loads.
func basic(service string, s Scale, callers ...int) plan.Plan {
	p := plan.Plan{
		Service: service, Callers: callers, MaxMessage: maxMessage,
		Blocks: 10, Warmup: 50 * time.Millisecond, Measure: 370 * time.Millisecond,
	}
	switch s {
	case Quick:
		p.Blocks, p.Warmup, p.Measure = 1, 30*time.Millisecond, 150*time.Millisecond
	case AsPublished:
		p.Blocks = 1
	}
	return p
}

// arms makes arms of targets and names of references.
func arms(names ...string) []plan.Arm {
	all := make([]plan.Arm, 0, len(names))
	for _, name := range names {
		all = append(all, arm(name))
	}
	return all
}

func arm(name string) plan.Arm {
	switch {
	case name == ref.Ping:
		return plan.Arm{Name: name, Kind: plan.Ping, Target: name}
	case ref.Known(name):
		return plan.Arm{Name: name, Kind: plan.Reference, Target: name, Beside: besides[name]}
	}
	return plan.Arm{Name: name, Kind: plan.Wire, Target: name}
}

// besides says which wire each reference stands beside.
var besides = map[string]string{ref.NetHTTP: httpKept, ref.JRPC2: jsonTCP, ref.GRPCGo: "grpc"}

// again adds the second run of the baseline, whose ratio to the first is the
// noise floor. In one block that claims nothing it would tell nothing.
func again(p plan.Plan) plan.Plan {
	if p.Blocks == 1 {
		return p
	}
	second := *p.Arm(p.Baseline)
	second.Name, second.Again, second.Beside = second.Name+Again, true, ""
	p.Arms = append(slices.Clone(p.Arms), second)
	return p
}

// exclude takes the arms that fit out of the plan and says why.
func exclude(p *plan.Plan, reason string, fits func(plan.Arm) bool) {
	if reason == "" {
		return
	}
	for _, a := range p.Arms {
		if fits(a) {
			p.Excluded = append(p.Excluded, plan.Excluded{Arm: a.Name, Reason: reason})
		}
	}
	p.Arms = slices.DeleteFunc(slices.Clone(p.Arms), fits)
}
