package form

import (
	"sync"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Full is the form of calls by the full name.
var Full = new(Form)

// Called are the forms of the methods that a connection calls. The zero value is
// ready.
type Called struct{ made sync.Map } // *everywire.Method -> *calledForm

type calledForm struct {
	form *Form
	err  error
}

// Of returns the form that a call is made in: [Full] without a description, or
// if it declares no short name. The error is a status.
func (c *Called) Of(m *everywire.Method) (*Form, error) {
	if m == nil || m.JSONRPC == nil || m.JSONRPC.Name == "" {
		return Full, nil
	}
	made, ok := c.made.Load(m)
	if !ok {
		f, err := Of(m)
		made, _ = c.made.LoadOrStore(m, &calledForm{f, err})
	}
	f := made.(*calledForm)
	if f.err != nil {
		return nil, status.Error(codes.Internal, f.err.Error())
	}
	return f.form, nil
}
