package load

import (
	"fmt"
	"math/rand/v2"

	"github.com/everywire/everywire/service/arith"
)

// A Workload says what is called and what the right reply is.
type Workload interface {
	// Caller returns the state of caller i. Nothing in it is shared with other
	// callers unless it is only read.
	Caller(seed uint64, i int) Caller
}

// A Caller makes one caller's requests and checks its replies. It is used by
// one goroutine and should not allocate.
type Caller interface {
	// Next returns the path of the method that is to be called next, such as
	// "/arith.Arith/Sum", the request, and an empty value for its reply. They are
	// valid until the next Next.
	Next() (path string, in, out any)
	// Check says what is wrong with the reply of the last Next, "" if nothing. It
	// is not called for a call that failed.
	Check() string
}

// Sum is arith's Sum of two random integers in 1..99, the workload of the
// article that began this.
func Sum() Workload { return sum{} }

type sum struct{}

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

func (c *sumCaller) Next() (path string, in, out any) {
	c.numbers = [2]int64{1 + c.rand.Int64N(99), 1 + c.rand.Int64N(99)}
	c.out = arith.SumReply{}
	return "/" + arith.Sum, &c.in, &c.out
}

func (c *sumCaller) Check() string {
	if want := c.numbers[0] + c.numbers[1]; c.out.Sum != want {
		return fmt.Sprintf("%d + %d gave %d", c.numbers[0], c.numbers[1], c.out.Sum)
	}
	return ""
}

// Ping sends no message at all: it is for a connection whose Invoke does one
// round trip of its own and checks it.
func Ping() Workload { return ping{} }

type ping struct{}

func (ping) Caller(uint64, int) Caller        { return ping{} }
func (ping) Next() (path string, in, out any) { return "/ping", nil, nil }
func (ping) Check() string                    { return "" }
