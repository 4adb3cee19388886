package stats

import (
	"math"
	"time"

	"github.com/everywire/everywire/lab/record"
)

// Emulated is what an emulated link did under one load, over all arms. Trials
// that are void do not count.
type Emulated struct {
	// Asked is the round-trip time that was asked for. RTT is the median over
	// trials of the one that was achieved on the idle link, Late the mean over
	// trials of how much later than due packets came during the load. 0 if no
	// trial tells.
	Asked, RTT, Late time.Duration
	// Packets were sent, both ways; Lost and Overflowed of them were dropped.
	Packets, Lost, Overflowed int64
}

func summarizeLink(trials []*record.Trial) *Emulated {
	e := &Emulated{}
	var rtts []float64
	var late float64
	for _, t := range trials {
		if t.Void != "" || t.Emulated == nil {
			continue
		}
		m := t.Emulated
		e.Asked = time.Duration(m.Asked)
		rtts = append(rtts, float64(m.RTT))
		late += float64(m.Late)
		e.Lost += m.LostOut + m.LostIn
		e.Overflowed += m.OverflowedOut + m.OverflowedIn
		if t.Net != nil {
			e.Packets += t.Net.PacketsOut + t.Net.PacketsIn + m.LostIn + m.OverflowedIn
		}
	}
	if len(rtts) > 0 {
		e.RTT, e.Late = time.Duration(Median(rtts)), time.Duration(late/float64(len(rtts)))
	}
	return e
}

func (a *Arm) forgetCPU() {
	nan := math.NaN()
	a.ServerCPU, a.ClientCPU, a.ServerCores, a.ClientCores = nan, nan, nan, nan
}
