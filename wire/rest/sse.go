package rest

import (
	stdjson "encoding/json"
	"fmt"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/reflect/protoreflect"

	"github.com/everywire/everywire/schema"
	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/httpmeta"
)

// An EventSource connects again when a stream ends, and then tells the last id.
// So the last event has this id: who comes with it wants nothing more, and is
// told so by 204, which an EventSource obeys (HTML, section 9.2.3).
const (
	lastEventID = "Last-Event-Id" // as net/http spells it
	goodbyeID   = "everywire:end"
)

func saidGoodbye(r *http.Request) bool { return r.Header.Get(lastEventID) == goodbyeID }

// eventIDField is the field of a reply that is the id of its event, if it is a
// string or an integer.
const eventIDField = "event_id"

// eventID returns the name in JSON of the field of a method's replies that has
// their ids, "" if there is none.
func eventID(m *schema.Message) string {
	switch {
	case m == nil:
	case m.Desc == nil:
		f := m.ByName(eventIDField)
		if f == nil || f.Repeated || f.MapKey != schema.Invalid {
			return ""
		}
		switch f.Kind {
		case schema.String, schema.Int32, schema.Int64, schema.Uint32, schema.Uint64:
			return f.JSONName
		}
	default:
		f := m.Desc.Fields().ByName(eventIDField)
		if f == nil || f.Cardinality() == protoreflect.Repeated {
			return ""
		}
		switch f.Kind() {
		case protoreflect.BoolKind, protoreflect.EnumKind, protoreflect.FloatKind, protoreflect.DoubleKind,
			protoreflect.BytesKind, protoreflect.MessageKind, protoreflect.GroupKind:
		default:
			return f.JSONName()
		}
	}
	return ""
}

// sse is the format of server-sent events.
type sse struct {
	id string // the name of the member with the id, "" if the replies have none
}

func (f sse) message(dst, whole, body []byte) []byte {
	if f.id != "" {
		dst = f.appendID(dst, whole)
	}
	dst = append(dst, "data: "...)
	dst = append(dst, body...)
	return append(dst, "\n\n"...)
}

// appendID appends the id of a reply, unless it has none, or one that the format
// cannot say.
func (f sse) appendID(dst, message []byte) []byte {
	var value []byte
	if members(message, func(name, v []byte) bool {
		if string(name) == f.id {
			value = v
		}
		return value == nil
	}) != nil || len(value) == 0 {
		return dst
	}
	id := string(value)
	if value[0] == '"' && stdjson.Unmarshal(value, &id) != nil || id == "null" {
		return dst
	}
	if id == "" || id == goodbyeID || strings.ContainsAny(id, "\x00\r\n") {
		return dst
	}
	return append(append(append(dst, "id: "...), id...), '\n')
}

// idle appends a comment.
func (sse) idle(dst []byte) []byte { return append(dst, ":\n\n"...) }

// An endEvent is the data of the last event.
type endEvent struct {
	Headers  map[string][]string `json:"headers,omitempty"`
	Trailers map[string][]string `json:"trailers,omitempty"`
}

// end appends the event of an error, if it is one, and the last one. A client is
// to come again only after UNAVAILABLE, which says that this may help.
func (sse) end(dst []byte, s *status.Status, late, trailer metadata.MD) []byte {
	if s.Code() != codes.OK {
		dst = append(dst, "event: error\ndata: "...)
		dst = append(dst, encodeProblem(code.HTTP(s.Code()), s)...)
		dst = append(dst, "\n\n"...)
	}
	dst = append(dst, "event: end\ndata: "...)
	dst = appendJSON(dst, endEvent{httpmeta.ToJSON(late), httpmeta.ToJSON(trailer)})
	if s.Code() != codes.Unavailable {
		dst = append(dst, "\nid: "+goodbyeID...)
	}
	return append(dst, "\n\n"...)
}

// appendJSON appends what can always be encoded.
func appendJSON(dst []byte, v any) []byte {
	b, err := stdjson.Marshal(v)
	if err != nil {
		panic(fmt.Sprintf("rest: encoding %T: %v", v, err))
	}
	return append(dst, b...)
}
