package load

import (
	"math/rand/v2"
	"time"

	"github.com/everywire/everywire/lab/plan"
)

// A schedule is when the calls of an open loop are to begin.
//
// The rate of a stage goes linearly from one value to another, so that the number
// of calls that were due by a time is the integral of the rate, a parabola. Call n
// is due where it reaches n: for even gaps n = 0, 1, 2 …; for a Poisson process the
// sum of n gaps that are exponentially distributed with the mean 1, which is how a
// process with a changing rate is made from one with a fixed rate. Each time is
// computed from the beginning of its stage, so that no error adds up.
type schedule struct {
	stages []plan.Stage
	random *rand.Rand // nil for even gaps

	stage  int
	begin  time.Duration // of the stage
	before float64       // calls that were due before it
	at     float64       // the integral at which the next call is due
}

func newSchedule(s plan.Shape, seed uint64) *schedule {
	sch := &schedule{stages: s.Stages}
	if s.Poisson {
		sch.random = rand.New(rand.NewPCG(seed, ^seed))
		sch.at = sch.random.ExpFloat64()
	}
	return sch
}

// next returns when the next call is to begin, and false after the last.
func (s *schedule) next() (time.Duration, bool) {
	for ; s.stage < len(s.stages); s.stage++ {
		st := s.stages[s.stage]
		whole := st.Calls()
		if within := s.at - s.before; within < whole {
			at := s.begin + time.Duration(st.Reach(within)*float64(time.Second))
			s.step()
			return at, true
		}
		s.begin += st.For
		s.before += whole
	}
	return 0, false
}

func (s *schedule) step() {
	if s.random == nil {
		s.at++
		return
	}
	s.at += s.random.ExpFloat64()
}
