package load

import (
	"fmt"
	"math/rand/v2"
)

// An Operation is one kind of call that a caller makes, see [Mix] and [Sequence].
type Operation struct {
	// Name is what results call it.
	Name string
	// Caller makes the requests and checks the replies. Those of one caller's
	// operations may share what they like: one goroutine uses them all.
	Caller Caller
	// Count is how often it is called: beside the others, or in a row.
	Count int
}

// Mix calls operations in random order, each as often as its count says on average.
// They are those of one caller, made by its number. It panics when a run begins if
// there are none, or if a count is below 1.
func Mix(operations func(seed uint64, caller int) []Operation) Workload {
	return mix{operations, true}
}

// Sequence calls operations in their order, each as often in a row as its count says,
// and again from the first: 1 login and 20 checks of its token. It panics as [Mix]
// does.
func Sequence(operations func(seed uint64, caller int) []Operation) Workload {
	return mix{operations, false}
}

type mix struct {
	operations func(seed uint64, caller int) []Operation
	random     bool
}

func (w mix) Caller(seed uint64, i int) Caller {
	c := &mixCaller{operations: w.operations(seed, i)}
	if len(c.operations) == 0 {
		panic("load: a mix of no operations")
	}
	for _, o := range c.operations {
		if o.Count < 1 {
			panic(fmt.Sprintf("load: operation %s has the count %d", o.Name, o.Count))
		}
		c.sum += o.Count
	}
	if w.random {
		// Requests are made from the seed itself: what is drawn here has nothing to do
		// with them.
		c.random = rand.New(rand.NewPCG(seed, ^uint64(i))) //nolint:gosec // callers count from 0
	}
	return c
}

type mixCaller struct {
	operations []Operation
	sum        int        // of their counts
	random     *rand.Rand // nil for a sequence
	n          int        // calls of the sequence made so far, of sum
	last       *Operation
}

func (c *mixCaller) Next() (path string, in, out any) {
	n := c.n
	if c.random != nil {
		n = c.random.IntN(c.sum)
	} else {
		c.n = (c.n + 1) % c.sum
	}
	for i := range c.operations {
		c.last = &c.operations[i]
		if n -= c.last.Count; n < 0 {
			break
		}
	}
	return c.last.Caller.Next()
}

func (c *mixCaller) Check() string { return c.last.Caller.Check() }

// Op is the operation of the last Next.
func (c *mixCaller) Op() string { return c.last.Name }
