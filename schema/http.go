package schema

import (
	"reflect"
	"strings"
)

// The struct tag that says where a field stands in an HTTP request, or that it
// is the entity tag of a reply:
//
//	Tenant  string `wire:"1" http:"header=X-Tenant"`
//	Session string `wire:"2" http:"cookie=session"`
//	PerPage int    `wire:"3" http:"query=per-page"` // another name in queries
//	Version int64  `wire:"4" http:"etag"`           // of a reply
//
// It speaks of the messages that are a method's request or reply; inside other
// messages it has no effect, except that of query.
const httpKey = "http"

// HTTPPlace is where a field stands in HTTP messages. On other wires it is a
// field like any other.
type HTTPPlace struct {
	In HTTPIn
	// Name is the header's, cookie's or query parameter's name as the tag has
	// it; "" for the other places.
	Name string
}

// HTTPIn is the part of an HTTP message that has a field.
type HTTPIn uint8

// The places.
const (
	InBody   HTTPIn = iota // wherever the route puts it: path, query or body
	InHeader               // a request's header
	InCookie               // a request's cookie
	InQuery                // as InBody, under another name in queries
	ETag                   // the field's value is a reply's entity tag
)

// httpPlaces are the words of the tag.
var httpPlaces = map[string]HTTPIn{"header": InHeader, "cookie": InCookie, "query": InQuery, "etag": ETag}

// ByQuery returns the field that a query calls name, or nil: by its JSON or
// protobuf name, or by the name that its http tag gives it instead.
func (m *Message) ByQuery(name string) *Field { return m.byQuery[name] }

func hasHTTP(sf reflect.StructField) bool {
	_, ok := sf.Tag.Lookup(httpKey)
	return ok
}

// placeInHTTP reads the http tag of f, which is classified already.
func placeInHTTP(m *Message, sf reflect.StructField, f *Field) error {
	tag, ok := sf.Tag.Lookup(httpKey)
	if !ok {
		return nil
	}
	bad := func(why string, args ...any) error {
		return fieldError(m, sf, "the tag %s:%q: "+why, append([]any{httpKey, tag}, args...)...)
	}
	word, name, named := strings.Cut(tag, "=")
	in := httpPlaces[word]
	if in == InBody || named != (in != ETag) {
		return bad("want header=NAME, cookie=NAME, query=NAME or etag")
	}
	single := !f.Repeated && f.MapKey == Invalid && f.Kind < Struct
	switch in {
	case InHeader:
		if !isToken(name) {
			return bad("%q is not a header's name", name)
		}
		if !single {
			return bad("a header holds a single value, not %s", sf.Type)
		}
		if why := reservedHeader(strings.ToLower(name)); why != "" {
			return bad("%s", why)
		}
	case InCookie:
		if !isToken(name) {
			return bad("%q is not a cookie's name", name)
		}
		if !single {
			return bad("a cookie holds a single value, not %s", sf.Type)
		}
	case InQuery:
		if !isQueryName(name) {
			return bad("%q is not a name for a query parameter: want printable ASCII without space, quotes and any of . [ ] & = + %% # ; < > \\", name)
		}
	case ETag:
		switch f.Kind {
		case String, Int32, Int64, Uint32, Uint64:
		default:
			single = false
		}
		if !single {
			return bad("an entity tag is made from a single string or integer, not from %s", sf.Type)
		}
	}
	f.HTTP = HTTPPlace{In: in, Name: name}
	return nil
}

// uniquePlaces checks that no two fields stand in one place, and fills byQuery.
func uniquePlaces(m *Message) error {
	m.byQuery = make(map[string]*Field, len(m.byName))
	taken := map[HTTPPlace]*Field{}
	for _, f := range m.Fields {
		sf := m.Type.Field(f.Index)
		place := f.HTTP
		if place.In == InHeader {
			place.Name = strings.ToLower(place.Name)
		}
		if place.In != InBody && place.In != InQuery {
			if other := taken[place]; other != nil {
				return fieldError(m, sf, "the tag %s:%q is that of field %s, too", httpKey, sf.Tag.Get(httpKey), m.Type.Field(other.Index).Name)
			}
			taken[place] = f
		}
		names := []string{f.JSONName, f.Name}
		if place.In == InQuery {
			names = []string{place.Name}
		}
		for _, name := range names {
			if other := m.byQuery[name]; other != nil && other != f {
				return fieldError(m, sf, "has the name %q in queries, as field %s has (tag %s)", name, m.Type.Field(other.Index).Name, httpKey)
			}
			m.byQuery[name] = f
		}
	}
	return nil
}

// reservedHeader says why a header cannot be a field, or "". The headers that
// say how a message is framed, encoded or routed are HTTP's or the wire's own.
func reservedHeader(lower string) string {
	switch lower {
	case "cookie", "set-cookie":
		return "a cookie is named by cookie=NAME"
	case "accept", "accept-encoding", "connection", "content-encoding", "content-length",
		"content-type", "date", "expect", "grpc-timeout", "host", "keep-alive", "proxy-connection",
		"te", "trailer", "transfer-encoding", "upgrade", "user-agent":
		return "this header is HTTP's own, or the wire's"
	}
	switch {
	case strings.HasPrefix(lower, "trailer-"):
		return "a header that begins with Trailer- is trailing metadata"
	case strings.HasSuffix(lower, "-bin"):
		return "a header that ends in -bin is binary metadata"
	}
	return ""
}

// isToken obeys RFC 9110, section 5.6.2.
func isToken(s string) bool {
	for i := range len(s) {
		c := s[i]
		alphanumeric := c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'
		if !alphanumeric && strings.IndexByte("!#$%&'*+-.^_`|~", c) < 0 {
			return false
		}
	}
	return s != ""
}

// isQueryName leaves out what separates names and values, and what means a
// field of a field or an element.
func isQueryName(s string) bool {
	return s != "" && strings.IndexFunc(s, func(r rune) bool {
		return r <= ' ' || r >= 0x7f || strings.ContainsRune(".[]&=+%#;\"<>\\", r)
	}) < 0
}
