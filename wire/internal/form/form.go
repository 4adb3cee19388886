package form

import (
	"fmt"
	"net/url"

	"github.com/everywire/everywire"
)

// A Form says how a method's messages look in params and result.
type Form struct {
	Method *everywire.Method
	Name   string // the short name, "" if none
	Params everywire.ParamsForm
	// Object is false for messages such as documents, which may be any value:
	// they travel as an array of one.
	Object bool
	Field  Field   // of ParamsList and ParamsScalar
	Order  []Field // of ParamsInOrder
	Result Field   // of a bare result; its key is "" if the result is the message
}

// Of checks a method's declaration. Without one, or with a faulty one,
// params are named.
func Of(m *everywire.Method) (*Form, error) {
	f := &Form{Method: m, Object: m.Input == nil || m.Input.IsObject()}
	decl := m.JSONRPC
	if decl == nil {
		return f, nil
	}
	bad := func(format string, args ...any) (*Form, error) {
		return &Form{Method: m, Object: f.Object}, fmt.Errorf("JSON-RPC form of %s: %s", m.FullName(), fmt.Sprintf(format, args...))
	}
	f.Name, f.Params = decl.Name, decl.Params
	// OpenRPC's own method is called by that name, where a server offers it.
	if Reserved(f.Name) && f.Name != "rpc.discover" {
		return bad("names that begin with rpc. or $/ are reserved, not to be declared: %q", f.Name)
	}
	if decl.Path != "" && !isPath(decl.Path) {
		return bad("%q is not the path of a URL, such as /api/v1/session", decl.Path)
	}
	if !f.Object && f.Params != everywire.ParamsNamed {
		return bad("%s is no object, so its params are an array of one without saying so", m.Input.Name)
	}
	var ok bool
	switch f.Params {
	case everywire.ParamsNamed, everywire.ParamsObject:
	case everywire.ParamsInOrder:
		if f.Order = fieldsOf(m.Input); f.Order == nil {
			return bad("the order of the fields is not known")
		}
	case everywire.ParamsList, everywire.ParamsScalar:
		if f.Field, ok = fieldOf(m.Input, decl.Field); !ok {
			return bad("the request has no field %q", decl.Field)
		}
		if f.Params == everywire.ParamsList && !f.Field.Repeated {
			return bad("field %q is not repeated", decl.Field)
		}
	default:
		return bad("unknown form of params %d", f.Params)
	}
	if decl.Result != "" {
		if f.Result, ok = fieldOf(m.Output, decl.Result); !ok {
			return bad("the reply has no field %q", decl.Result)
		}
	}
	return f, nil
}

// isPath reports whether a path can be compared with those of requests as it is
// written: it is absolute, and nothing in it is escaped.
func isPath(path string) bool {
	u, err := url.Parse(path)
	return err == nil && path[0] == '/' && u.Path == path && u.EscapedPath() == path
}
