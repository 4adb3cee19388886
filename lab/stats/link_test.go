package stats

import (
	"math"
	"testing"
	"time"

	"github.com/everywire/everywire/lab/plan"
	"github.com/everywire/everywire/lab/record"
)

// Each link is a load of its own; an emulated one has what it did and no CPU
// figures.
func TestLinks(t *testing.T) {
	const slow = "rtt=10ms"
	r := run(4, wires("base", "arm"), func(string, int) int64 { return 1000 })
	r.Header.Plan.Links = []string{plan.Loopback, slow}
	for i := range r.Trials {
		r.Trials[i].ServerCPU = 0.5
	}
	for i, t := range r.Trials {
		t.Link, t.Calls = slow, 100
		if t.Arm == "arm" {
			t.Calls = 50
		}
		t.Net = &record.Net{PacketsOut: 500, PacketsIn: 490}
		t.Emulated = &record.Emulated{Asked: 10e6, RTT: 10e6 + int64(i)*1e5, Late: 40e3, LostOut: 1, LostIn: 2, OverflowedIn: 3}
		r.Trials = append(r.Trials, t)
	}
	void := r.Trials[len(r.Trials)-1]
	void.Void, void.Emulated = "disturbed", &record.Emulated{LostOut: 1e6}
	r.Trials = append(r.Trials, void)

	s := Summarize(r)
	if len(s.Loads) != 2 || s.Loads[0].Link != plan.Loopback || s.Loads[1].Link != slow {
		t.Fatalf("%+v", s.Loads)
	}
	near, far := &s.Loads[0], &s.Loads[1]
	if near.Emulated != nil || near.Arm("arm").Ratio.Median != 1 || near.Arm("arm").ServerCPU != 0.5/1000 {
		t.Errorf("loopback: %+v", near.Arm("arm"))
	}
	arm := far.Arm("arm")
	if arm.Ratio.Median != 0.5 || arm.Trials != 5 || arm.Void != 1 {
		t.Errorf("emulated: %+v", arm)
	}
	for _, v := range []float64{arm.ServerCPU, arm.ClientCPU, arm.ServerCores, arm.ClientCores} {
		if !math.IsNaN(v) {
			t.Errorf("a CPU figure over an emulated link: %v", v)
		}
	}
	want := Emulated{Asked: 10 * time.Millisecond, RTT: 10350 * time.Microsecond, Late: 40 * time.Microsecond,
		Packets: 8 * (500 + 490 + 2 + 3), Lost: 8 * 3, Overflowed: 8 * 3}
	if *far.Emulated != want {
		t.Errorf("%+v, want %+v", *far.Emulated, want)
	}
}
