package load

import (
	"fmt"
	"math/rand/v2"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/echo"
)

// A Workload says what is called and what the right reply is.
type Workload interface {
	// Path is the method's path: "/arith.Arith/Sum".
	Path() string
	// Caller returns the state of caller i. Nothing in it is shared with other
	// callers unless it is only read.
	Caller(seed uint64, i int) Caller
}

// A Caller makes one caller's requests and checks its replies. It is used by
// one goroutine and should not allocate.
type Caller interface {
	// Next returns the next request and an empty value for its reply. Both
	// are valid until the next Next.
	Next() (in, out any)
	// Check says what is wrong with the reply of the last Next, "" if nothing.
	Check() string
}

// Sum is arith's Sum of two random integers in 1..99, the workload of the
// article that began this.
func Sum() Workload { return sum{} }

type sum struct{}

func (sum) Path() string { return "/" + arith.Sum }

func (sum) Caller(seed uint64, i int) Caller {
	c := &sumCaller{rand: rand.New(rand.NewPCG(seed, uint64(i)))}
	c.in.Numbers = c.numbers[:]
	return c
}

type sumCaller struct {
	rand    *rand.Rand
	numbers [2]int64
	in      arith.SumRequest
	out     arith.SumReply
}

func (c *sumCaller) Next() (in, out any) {
	c.numbers = [2]int64{1 + c.rand.Int64N(99), 1 + c.rand.Int64N(99)}
	c.out = arith.SumReply{}
	return &c.in, &c.out
}

func (c *sumCaller) Check() string {
	if want := c.numbers[0] + c.numbers[1]; c.out.Sum != want {
		return fmt.Sprintf("%d + %d gave %d", c.numbers[0], c.numbers[1], c.out.Sum)
	}
	return ""
}

// Echo sends a document through echo and compares what comes back by value: 1
// equals 1.0, and an integer that lost digits is wrong. All callers send the
// same document, which must not change while the load runs.
func Echo(doc everywire.Document) Workload { return &echoed{doc: doc} }

type echoed struct{ doc everywire.Document }

func (*echoed) Path() string { return "/" + echo.Echo }

func (w *echoed) Caller(uint64, int) Caller { return &echoCaller{in: &w.doc} }

type echoCaller struct {
	in  *everywire.Document
	out everywire.Document
}

func (c *echoCaller) Next() (in, out any) {
	c.out = everywire.Document{}
	return c.in, &c.out
}

func (c *echoCaller) Check() string { return difference(c.out.Value, c.in.Value) }

// Ping sends no message at all: it is for a connection whose Invoke does one
// round trip of its own and checks it.
func Ping() Workload { return ping{} }

type ping struct{}

func (ping) Path() string              { return "/ping" }
func (ping) Caller(uint64, int) Caller { return ping{} }
func (ping) Next() (in, out any)       { return nil, nil }
func (ping) Check() string             { return "" }
