package target

import (
	"fmt"
	"slices"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/lab/data"
)

// caller is one caller: it makes sessions, or operations in any order.
type caller struct {
	work      *Work
	state     *data.State
	cursor    *data.Cursor
	operation int // of the work's
	left      int // how often it is still to be called
	// answered is set once the last call has had its right reply.
	answered bool

	call    Call
	out     any
	outOf   *Method // whose replies out takes
	text    []byte  // of a request's JSON
	wants   []data.Value
	request Request
	reply   Response
}

// Next is load.Caller's.
func (c *caller) Next() (path string, in, out any) {
	c.state.BeginCall()
	op := c.advance()
	c.answered = false
	c.work.assign(op.set, c.state)
	c.wants = c.wants[:0]
	for i := range op.checks {
		want := op.checks[i].want.Value(c.state)
		if op.checks[i].constant {
			want.Kind = data.JSON // as it is written: 41 is no "41"
		}
		c.wants = append(c.wants, want)
	}
	if op.http != nil {
		return c.nextHTTP(op)
	}
	return c.nextRPC(op)
}

// Op is the name of the last Next's operation.
func (c *caller) Op() string { return c.work.operations[c.operation].name }

// advance goes to the next operation, and begins sessions.
func (c *caller) advance() *operation {
	w := c.work
	if w.weights != nil {
		c.begin()
		n := c.state.Rand().IntN(w.weights[len(w.weights)-1])
		c.operation, _ = slices.BinarySearch(w.weights, n+1)
		return w.operations[c.operation]
	}
	// What a failed call was to extract is not there: the session cannot go on.
	failed := !c.answered && len(w.operations[c.operation].extract) > 0
	if !failed && c.left > 0 {
		c.left--
		return w.operations[c.operation]
	}
	c.operation++
	if failed || c.operation >= len(w.operations) {
		c.operation = 0
		c.begin()
	}
	op := w.operations[c.operation]
	c.left = op.count - 1
	return op
}

// begin takes a row and sets the variables of a session.
func (c *caller) begin() {
	if c.cursor != nil {
		c.cursor.Next(c.state)
	}
	c.work.assign(c.work.set, c.state)
}

func (c *caller) nextHTTP(op *operation) (path string, in, out any) {
	r := &c.request
	r.Method = op.http.verb
	r.Path = op.http.path.Append(r.Path[:0], c.state)
	r.Header = slices.Grow(r.Header[:0], len(op.headers))[:len(op.headers)]
	for i := range op.headers {
		r.Header[i].Name = op.headers[i].name
		r.Header[i].Value = op.headers[i].text.Append(r.Header[i].Value[:0], c.state)
	}
	r.Body = r.Body[:0]
	if r.HasBody = op.body != nil; r.HasBody {
		r.Body = op.body.Append(r.Body, c.state)
	}
	r.KeepBody = len(op.checks) > 0 || len(op.extract) > 0
	r.Statuses = op.http.statuses
	return op.name, r, &c.reply
}

func (c *caller) nextRPC(op *operation) (path string, in, out any) {
	m := op.rpc.method
	c.call = Call{Message: op.rpc.message, Header: op.rpc.metadata, Want: op.rpc.want}
	if c.call.Header == nil {
		c.call.Header = op.metadata(c.state)
	}
	if c.call.Message == nil {
		c.call.Message = m.NewIn()
		c.text = op.body.Append(c.text[:0], c.state)
		if err := m.Read(c.text, c.call.Message); err != nil {
			c.call.Broken = status.Errorf(codes.InvalidArgument, "the request could not be made: %v", err)
		}
	}
	// Decoding resets a message first, so one is enough.
	if c.outOf != m {
		c.out, c.outOf = m.NewOut(), m
	}
	return m.Path, &c.call, c.out
}

// Check is load.Caller's.
func (c *caller) Check() string {
	op := c.work.operations[c.operation]
	reply := c.out
	if op.http != nil {
		reply = c.reply.Body
	} else if len(op.rpc.want) > 0 {
		if !slices.Contains(op.rpc.want, c.call.Code) {
			return fmt.Sprintf("status %s, want %s", CodeName(c.call.Code), codeNames(op.rpc.want))
		}
	}
	if len(op.checks) > 0 || len(op.extract) > 0 {
		if op.rpc != nil && c.call.Code != codes.OK {
			if len(op.extract) > 0 {
				return fmt.Sprintf("status %s, and so nothing to extract", CodeName(c.call.Code))
			}
			c.answered = true
			return ""
		}
		doc, err := documentOf(reply)
		if err != nil {
			return err.Error()
		}
		for i := range op.checks {
			if text := differs(doc, op.checks[i].path, c.wants[i]); text != "" {
				return text
			}
		}
		for _, e := range op.extract {
			found, err := e.path.Find(doc)
			if err != nil {
				return err.Error()
			}
			value, err := data.ValueOf(found)
			if err != nil {
				return err.Error()
			}
			c.state.Set(e.slot, value)
		}
	}
	c.answered = true
	return ""
}

func codeNames(all []codes.Code) string {
	names := make([]string, len(all))
	for i, code := range all {
		names[i] = CodeName(code)
	}
	return strings.Join(names, " or ")
}
