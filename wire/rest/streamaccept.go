package rest

import (
	"net/http"

	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/websocket"
)

// sseType is the media type of server-sent events.
const sseType = "text/event-stream"

// streamTypes are those of the replies of a server stream, the default first. The
// three names of newline-delimited JSON are one format.
var streamTypes = []string{"application/x-ndjson", "application/jsonl", "application/ndjson", sseType}

// acceptStream chooses how the replies of a stream travel. They are JSON, and
// have no coding: one that were compressed would wait for those behind it.
func (h *handler) acceptStream(x *exchange, r *http.Request) *refusal {
	m := x.endpoint.method
	if m.Kind != everywire.ServerStream {
		return upgradeFirst(m, r)
	}
	if x.format = acceptedFormat(r.Header, h.formats.streams, func(*format) bool { return true }); x.format == nil {
		return refuse(http.StatusNotAcceptable, codes.InvalidArgument,
			"Accept %s allows none of the types of method %s, which is %s: %s", quoted(r.Header["Accept"]), m.FullName(), m.Kind, types(h.formats.streams))
	}
	return nil
}

// upgradeFirst refuses the call of a method whose client streams too: HTTP/1.1
// has a request end before its response begins.
func upgradeFirst(m *everywire.Method, r *http.Request) *refusal {
	if r.ProtoMajor > 1 {
		return refuse(http.StatusNotImplemented, codes.Unimplemented,
			"method %s is %s: call it by WebSocket, over HTTP/1.1", m.FullName(), m.Kind)
	}
	no := refuse(http.StatusUpgradeRequired, codes.Unimplemented,
		"method %s is %s: call it by WebSocket, with GET and an upgrade", m.FullName(), m.Kind)
	no.upgrade = true
	no.closing = r.ContentLength != 0
	return no
}

// asksForWebSocket is [websocket.Asked], quick where nothing is asked for.
func asksForWebSocket(r *http.Request) bool {
	return r.Header["Upgrade"] != nil && r.Method == http.MethodGet && websocket.Asked(r)
}
