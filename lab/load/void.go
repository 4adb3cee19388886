package load

import (
	"fmt"
	"time"
)

// The rules by which an open loop's result counts for nothing: what it measured was
// the load generator then. They look at nothing that the server did.
const (
	// MaxPacerLate is the share of calls that may begin more than [LateAfter] after
	// they could have: see [Result.Lag]. A few may in any case, [PacerLateAllowed]: of
	// thirty calls one would be more than the share.
	MaxPacerLate     = 0.01
	PacerLateAllowed = 2
	// MaxGeneratorBusy is the share of its cores that the generator may keep busy. A
	// busier one has no core left when a call is due or a reply comes.
	MaxGeneratorBusy = 0.9
)

// LatePacer is [Result.Void]'s reason for a generator that was late.
var LatePacer = fmt.Sprintf("the generator began more than %g %% of the calls late although a caller was free", 100*MaxPacerLate)

// Void says why an open loop's result counts for nothing, "" if it counts. cpu is the
// time of the generator's process during the run, which took so long on so many
// cores. A closed loop has no time to keep: its result always counts.
func (r *Result) Void(cpu, took time.Duration, cores int) string {
	switch {
	case float64(r.PacerLate) > max(PacerLateAllowed, MaxPacerLate*float64(r.Scheduled)):
		return LatePacer
	case r.Scheduled > 0 && cpu.Seconds() > MaxGeneratorBusy*float64(cores)*took.Seconds():
		return fmt.Sprintf("the generator kept more than %g %% of its cores busy", 100*MaxGeneratorBusy)
	}
	return ""
}
