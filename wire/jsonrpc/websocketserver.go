package jsonrpc

import (
	"context"
	"crypto/sha1" //nolint:gosec // RFC 6455 has it, for no secret
	"crypto/tls"
	"encoding/base64"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/textproto"
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/everywire/everywire/wire/internal/httpmeta"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// webSocketVersion is the one version of the protocol (RFC 6455, section 4.1).
const webSocketVersion = "13"

// subprotocols are those that a client may name; it need not.
var subprotocols = []string{"jsonrpc", "jsonrpc-2.0"}

// A webSocketServer upgrades connections with net/http and serves them with the
// engine.
type webSocketServer struct {
	engine  *stream.Server
	tls     *tls.Config
	http    *http.Server
	path    string   // "" for any
	origins []string // beside that of the server
}

// NewWebSocketServer makes a server of JSON-RPC over WebSockets. It upgrades at
// cfg.Path, or at any path.
func NewWebSocketServer(cfg *rpc.ServerConfig) (rpc.Server, error) {
	engine, s, err := streamServerConfig(cfg, framingWebSocket)
	if err != nil {
		return nil, err
	}
	origins, err := originsOf(cfg.Options)
	if err != nil {
		return nil, err
	}
	engine.TLS = nil // it ends before the upgrade
	open := engine.Open
	engine.Open = func(c *stream.Conn) stream.Session { return newWebSocketSession(c, open(c), true, s.maxText()) }
	// The framer bounds messages. The engine counts the headers of fragments too.
	engine.MaxFrame += engine.MaxFrame / 4
	server := &webSocketServer{engine: stream.NewServer(engine), tls: cfg.TLS, path: cfg.Path, origins: origins}
	server.http = &http.Server{
		Handler:           http.HandlerFunc(server.upgrade),
		ReadHeaderTimeout: headerTimeout,
		ReadTimeout:       bodyTimeout, // of requests that are refused
		IdleTimeout:       idleTimeout,
		MaxHeaderBytes:    2 * httpmeta.Bounded(cfg.Limits.MaxMetadata),
		Protocols:         new(http.Protocols),
		ErrorLog:          slog.NewLogLogger(cfg.Logger.Handler(), slog.LevelWarn),
	}
	server.http.Protocols.SetHTTP1(true)
	return server, nil
}

// originsOf reads the option: hosts, with a port if they have one, or "*".
func originsOf(options rpc.Options) ([]string, error) {
	v, ok := options["origins"]
	if !ok {
		return nil, nil
	}
	origins := strings.Split(strings.ToLower(v), ",")
	for _, o := range origins {
		if u, err := url.Parse("//" + o); o != "*" && (err != nil || u.Host != o || o == "") {
			return nil, fmt.Errorf("option origins: %q is not a host, such as a.example or a.example:8080, or *", o)
		}
	}
	return origins, nil
}

// Serve is [rpc.Server]'s.
func (s *webSocketServer) Serve(lis net.Listener) error {
	return serveHTTP1(s.http, lis, s.tls)
}

// Shutdown is [rpc.Server]'s. Handshakes under way are given up.
func (s *webSocketServer) Shutdown(ctx context.Context) error {
	_ = s.http.Close() // of what has not been upgraded; it fails only if it is closed already
	return s.engine.Shutdown(ctx)
}

// upgrade answers a request, and hands its connection to the engine.
func (s *webSocketServer) upgrade(w http.ResponseWriter, r *http.Request) {
	if status, why := s.check(w.Header(), r); status != 0 {
		if r.ContentLength != 0 {
			w.Header().Set("Connection", "close") // or net/http would wait for the body
		}
		http.Error(w, why, status)
		return
	}
	conn, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	if buffered.Reader.Buffered() > 0 || writeUpgrade(conn, r) != nil {
		// A client that does not wait for the answer (section 4.1) has sent what
		// may be meant for another protocol.
		_ = conn.Close() // nobody has used it
		return
	}
	// The handler ends, so that net/http can let go of what it has for requests.
	s.engine.Start(conn)
}

// check returns the status and the reason to refuse a request, 0 for none. See
// section 4.2.1.
func (s *webSocketServer) check(answer http.Header, r *http.Request) (status int, why string) {
	key := r.Header["Sec-Websocket-Key"]
	version := r.Header["Sec-Websocket-Version"]
	switch {
	case s.path != "" && r.URL.Path != s.path:
		return http.StatusNotFound, fmt.Sprintf("the WebSocket is at %s, not at %s", s.path, r.URL.Path)
	case r.Method != http.MethodGet:
		answer.Set("Allow", http.MethodGet)
		return http.StatusMethodNotAllowed, "a WebSocket begins with GET, not with " + r.Method
	case !r.ProtoAtLeast(1, 1) || !hasToken(r.Header, "Upgrade", "websocket") || !hasToken(r.Header, "Connection", "upgrade"):
		answer.Set("Upgrade", "websocket")
		answer.Set("Connection", "Upgrade")
		return http.StatusUpgradeRequired, "here is JSON-RPC over WebSocket: the request does not ask for an upgrade to it"
	case len(version) != 1 || version[0] != webSocketVersion:
		answer.Set("Sec-WebSocket-Version", webSocketVersion)
		return http.StatusBadRequest, fmt.Sprintf("Sec-WebSocket-Version is %q, and %s is spoken here", version, webSocketVersion)
	case len(key) != 1 || !isKey(key[0]):
		return http.StatusBadRequest, fmt.Sprintf("Sec-WebSocket-Key is %q, not the base64 of 16 bytes", key)
	case r.ContentLength != 0:
		return http.StatusBadRequest, "a request for an upgrade has no body"
	case !s.allows(r):
		return http.StatusForbidden, fmt.Sprintf("the origin %q is not allowed", r.Header["Origin"])
	}
	return 0, ""
}

func isKey(s string) bool {
	b, err := base64.StdEncoding.DecodeString(s)
	return err == nil && len(b) == 16
}

// hasToken reports whether one of the comma-separated values of a field is the
// token, in any letter case.
func hasToken(h http.Header, field, token string) bool {
	return slices.ContainsFunc(tokensOf(h, field), func(s string) bool { return strings.EqualFold(s, token) })
}

func tokensOf(h http.Header, field string) (tokens []string) {
	for _, line := range h[textproto.CanonicalMIMEHeaderKey(field)] {
		for t := range strings.SplitSeq(line, ",") {
			tokens = append(tokens, textproto.TrimString(t))
		}
	}
	return tokens
}

// allows checks the origin (section 10.2). A browser lets every page open
// WebSockets to every host, and sends the user's cookies along. Programs that are
// no browsers send no origin.
func (s *webSocketServer) allows(r *http.Request) bool {
	origin := r.Header["Origin"]
	if len(origin) == 0 || slices.Contains(s.origins, "*") {
		return true
	}
	u, err := url.Parse(origin[0])
	if len(origin) > 1 || err != nil || u.Host == "" { // "null" is that of files and sandboxes
		return false
	}
	return strings.EqualFold(u.Host, r.Host) || slices.Contains(s.origins, strings.ToLower(u.Host))
}

// writeUpgrade answers a request that is right.
func writeUpgrade(conn net.Conn, r *http.Request) error {
	answer := "HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Accept: " +
		acceptOf(r.Header.Get("Sec-Websocket-Key")) + "\r\n"
	offered := tokensOf(r.Header, "Sec-WebSocket-Protocol")
	if i := slices.IndexFunc(offered, func(p string) bool { return slices.Contains(subprotocols, p) }); i >= 0 {
		answer += "Sec-WebSocket-Protocol: " + offered[i] + "\r\n"
	}
	if err := conn.SetWriteDeadline(time.Now().Add(headerTimeout)); err != nil {
		return err
	}
	if _, err := io.WriteString(conn, answer+"\r\n"); err != nil {
		return err
	}
	return conn.SetWriteDeadline(time.Time{})
}

// acceptOf is the answer to a key: it shows that it was read as one (section 1.3).
func acceptOf(key string) string {
	sum := sha1.Sum([]byte(key + "258EAFA5-E914-47DA-95CA-C5AB0DC85B11")) //nolint:gosec // as above
	return base64.StdEncoding.EncodeToString(sum[:])
}
