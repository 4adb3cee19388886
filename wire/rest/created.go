package rest

import "github.com/everywire/everywire/schema"

// takesBodyAlone reports whether a body is the whole message, so that it can be
// decoded as it is.
func (e *endpoint) takesBodyAlone() bool { return e.wholeBody && len(e.variables) == 0 }

// etagField returns the reply's field that is its entity tag, or nil.
func (e *endpoint) etagField() *field {
	out := e.method.Output
	if out == nil {
		return nil
	}
	for _, f := range out.Fields {
		if f.HTTP.In == schema.ETag {
			return output(e.method)[f.JSONName]
		}
	}
	return nil
}
