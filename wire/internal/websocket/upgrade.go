package websocket

import (
	"crypto/sha1" //nolint:gosec // RFC 6455 has it, for no secret
	"encoding/base64"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/textproto"
	"slices"
	"strings"
	"time"

	"golang.org/x/net/http/httpguts"

	"github.com/everywire/everywire/wire/internal/origin"
)

// version is the one version of the protocol (RFC 6455, section 4.1).
const version = "13"

// answerTimeout bounds the writing of the handshake's answer.
const answerTimeout = 10 * time.Second

// Asked reports whether a request asks for an upgrade to WebSocket.
func Asked(r *http.Request) bool {
	return r.ProtoMajor == 1 && r.ProtoAtLeast(1, 1) && upgrades(r.Header)
}

// upgrades reports whether the fields of a request or an answer ask for an upgrade
// to WebSocket, or grant it.
func upgrades(h http.Header) bool {
	return httpguts.HeaderValuesContainsToken(h["Upgrade"], "websocket") && httpguts.HeaderValuesContainsToken(h["Connection"], "upgrade")
}

// An Upgrader does a server's part of the handshake.
type Upgrader struct {
	// Origins are those of pages that may open a WebSocket, beside the server's
	// own.
	Origins origin.List
	// Subprotocols are those that a client may name; it need not.
	Subprotocols []string
}

// Check returns the status and the reason to refuse a request, 0 for none, and
// sets the fields that such an answer has. See section 4.2.1.
func (u *Upgrader) Check(answer http.Header, r *http.Request) (status int, why string) {
	key := r.Header["Sec-Websocket-Key"]
	versions := r.Header["Sec-Websocket-Version"]
	switch {
	case r.Method != http.MethodGet:
		answer.Set("Allow", http.MethodGet)
		return http.StatusMethodNotAllowed, "a WebSocket begins with GET, not with " + r.Method
	case r.ProtoMajor > 1:
		// The fields that ask for an upgrade are none of HTTP/2's (RFC 9113, section
		// 8.2.2); what it has in their place, RFC 8441, is not served here.
		return http.StatusNotImplemented, "a WebSocket begins with an upgrade of HTTP/1.1, and this is " + r.Proto
	case !Asked(r):
		answer.Set("Upgrade", "websocket")
		answer.Set("Connection", "Upgrade")
		return http.StatusUpgradeRequired, "here is a WebSocket: the request does not ask for an upgrade to it"
	case len(versions) != 1 || versions[0] != version:
		answer.Set("Sec-WebSocket-Version", version)
		return http.StatusBadRequest, fmt.Sprintf("Sec-WebSocket-Version is %q, and %s is spoken here", versions, version)
	case len(key) != 1 || !IsKey(key[0]):
		return http.StatusBadRequest, fmt.Sprintf("Sec-WebSocket-Key is %q, not the base64 of 16 bytes", key)
	case r.ContentLength != 0:
		return http.StatusBadRequest, "a request for an upgrade has no body"
	case !u.Origins.AllowUpgrade(r):
		return http.StatusForbidden, fmt.Sprintf("the origin %q is not allowed", r.Header["Origin"])
	}
	return 0, ""
}

// Refuse answers a request with what Check returned, in plain text.
func Refuse(w http.ResponseWriter, r *http.Request, status int, why string) {
	if r.ContentLength != 0 && r.ProtoMajor == 1 {
		w.Header().Set("Connection", "close") // or the server would wait for the body
	}
	http.Error(w, why, status)
}

// Upgrade answers a request that is right, and takes its connection over. Without
// a connection, and with an error, the request is not answered; with neither, the
// client has broken the handshake, and nobody is left to answer.
func (u *Upgrader) Upgrade(w http.ResponseWriter, r *http.Request) (conn net.Conn, subprotocol string, err error) {
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, "", err
	}
	subprotocol = u.choose(r)
	if buffered.Reader.Buffered() > 0 || answer(conn, r, subprotocol) != nil {
		// A client that does not wait for the answer (section 4.1) has sent what
		// may be meant for another protocol.
		_ = conn.Close()    // nobody has used it
		return nil, "", nil //nolint:nilerr // nobody is left to answer
	}
	return conn, subprotocol, nil
}

// choose takes the first of the client's subprotocols that is known.
func (u *Upgrader) choose(r *http.Request) string {
	for _, offered := range tokensOf(r.Header, "Sec-WebSocket-Protocol") {
		if slices.Contains(u.Subprotocols, offered) {
			return offered
		}
	}
	return ""
}

func answer(conn net.Conn, r *http.Request, subprotocol string) error {
	head := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		AcceptOf(r.Header.Get("Sec-Websocket-Key")) + "\r\n"
	if subprotocol != "" {
		head += "Sec-WebSocket-Protocol: " + subprotocol + "\r\n"
	}
	// The server's deadlines for a request are none of the WebSocket's.
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return err
	}
	if err := conn.SetWriteDeadline(time.Now().Add(answerTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, head+"\r\n"); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// IsKey reports whether s is a key of a client's: the base64 of 16 bytes.
func IsKey(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && len(b) == 16
}

// AcceptOf is the answer to a key: it shows that it was read as one (section 1.3).
func AcceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	return base64.StdEncoding.EncodeToString(sum[:])
}

func tokensOf(h http.Header, field string) (tokens []string) {
	for _, line := range h[textproto.CanonicalMIMEHeaderKey(field)] {
		for t := range strings.SplitSeq(line, ",") {
			tokens = append(tokens, textproto.TrimString(t))
		}
	}
	return tokens
}
