package load

import (
	"reflect"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/echo"
)

// Echo sends messages through echo, one after the other and again from the first,
// and compares what comes back by value. Messages are pointers to documents or to
// structs of one type; all callers send the same ones, which must not change while
// the load runs. In documents 1 equals 1.0, and an integer that lost digits is wrong.
func Echo(messages ...any) Workload { return &echoed{messages} }

type echoed struct{ messages []any }

func (w *echoed) Caller(_ uint64, i int) Caller {
	c := &echoCaller{messages: w.messages, next: i % len(w.messages)}
	c.out = reflect.New(reflect.TypeOf(w.messages[0]).Elem())
	return c
}

type echoCaller struct {
	messages []any
	next     int
	in       any
	out      reflect.Value // a pointer
}

func (c *echoCaller) Next() (path string, in, out any) {
	c.in = c.messages[c.next]
	c.next = (c.next + 1) % len(c.messages)
	c.out.Elem().SetZero()
	return "/" + echo.Echo, c.in, c.out.Interface()
}

func (c *echoCaller) Check() string {
	if want, ok := c.in.(*everywire.Document); ok {
		return Difference(c.out.Interface().(*everywire.Document).Value, want.Value)
	}
	return typedDifference(c.out.Elem(), reflect.ValueOf(c.in).Elem())
}
