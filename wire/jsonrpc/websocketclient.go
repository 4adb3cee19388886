package jsonrpc

import (
	"bufio"
	"bytes"
	"context"
	"crypto/rand"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"time"

	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/code"
	"github.com/everywire/everywire/wire/internal/rpc"
	"github.com/everywire/everywire/wire/internal/stream"
)

// NewWebSocketConn makes a client of JSON-RPC over WebSockets. The path is
// cfg.Path, or else "/".
func NewWebSocketConn(cfg *rpc.ClientConfig) (rpc.Conn, error) {
	return newStreamConn(cfg, framingWebSocketMasked, alpnHTTP1, func(engine *stream.ClientConfig) {
		dial, open := engine.Dial, engine.Open
		engine.Dial = func(ctx context.Context) (net.Conn, error) {
			conn, err := dial(ctx)
			if err != nil {
				return nil, err
			}
			if err := handshake(ctx, cfg, conn); err != nil {
				_ = conn.Close() // the error to tell is the handshake's
				return nil, err
			}
			return conn, nil
		}
		engine.Open = func(c *stream.Conn) stream.Session { return newWebSocketSession(c, open(c), false, 0) }
	})
}

// handshake makes the connection a WebSocket (RFC 6455, section 4.1), and reads
// no byte beyond the answer. The error is a *[rpc.DialError], or a status if the
// server has refused.
func handshake(ctx context.Context, cfg *rpc.ClientConfig, conn net.Conn) error {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // fails only on a closed connection
	err := askForUpgrade(cfg, conn)
	switch _, refused := status.FromError(err); {
	case !stop():
		err = &rpc.DialError{Target: cfg.Target, Err: context.Cause(ctx)}
	case err != nil && !refused:
		err = &rpc.DialError{Target: cfg.Target, Err: fmt.Errorf("WebSocket handshake: %w", err)}
	}
	return err
}

func askForUpgrade(cfg *rpc.ClientConfig, conn net.Conn) error {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	key := base64.StdEncoding.EncodeToString(random[:])
	path := url.URL{Path: cfg.Path}
	if path.Path == "" {
		path.Path = "/"
	}
	request := "GET " + path.EscapedPath() + " HTTP/1.1\r\nHost: " + hostOf(cfg.Addrs) +
		"\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " + key +
		"\r\nSec-WebSocket-Version: " + webSocketVersion + "\r\n"
	if cfg.UserAgent != "" {
		request += "User-Agent: " + cfg.UserAgent + "\r\n"
	}
	if _, err := io.WriteString(conn, request+"\r\n"); err != nil {
		return err
	}
	head, err := readAnswer(conn)
	if err != nil {
		return err
	}
	r := bufio.NewReader(bytes.NewReader(head))
	res, err := http.ReadResponse(r, nil)
	if err != nil {
		return err
	}
	defer res.Body.Close() //nolint:errcheck // there is nothing behind it
	switch h := res.Header; {
	case res.StatusCode != http.StatusSwitchingProtocols:
		body, _ := io.ReadAll(io.LimitReader(io.MultiReader(r, conn), min(max(0, res.ContentLength), 512))) // what there is of it
		return status.Errorf(code.FromHTTP(res.StatusCode), "%s refused the WebSocket handshake: HTTP status %s: %s",
			cfg.Target, res.Status, excerpt(bytes.TrimSpace(body)))
	case r.Buffered() > 0:
		return errors.New("the answer has too few fields")
	case !hasToken(h, "Upgrade", "websocket") || !hasToken(h, "Connection", "upgrade"):
		return errors.New("the answer does not upgrade to websocket")
	case h.Get("Sec-WebSocket-Accept") != acceptOf(key):
		return fmt.Errorf("the answer's Sec-WebSocket-Accept is %q, want %q", h.Get("Sec-WebSocket-Accept"), acceptOf(key))
	case len(h["Sec-Websocket-Extensions"]) > 0 || len(h["Sec-Websocket-Protocol"]) > 0:
		return errors.New("the answer has an extension or a subprotocol that was not asked for")
	}
	return nil
}

const (
	maxHead = 16 << 10
	// shortestHead is the length of the shortest answer that upgrades.
	shortestHead = len("HTTP/1.1 101\r\nUpgrade:websocket\r\nConnection:Upgrade\r\nSec-WebSocket-Accept:0123456789012345678901234567\r\n\r\n")
)

// readAnswer reads the head of a response. The first frame may be right behind it,
// and must be left to the engine, so no more is asked for than the head must
// still have: at first the shortest one that upgrades, then what is missing of
// the empty line.
func readAnswer(r io.Reader) ([]byte, error) {
	const end = "\r\n\r\n"
	head := make([]byte, 0, 2*shortestHead)
	for {
		missing := len(end)
		for n := 1; n < len(end); n++ {
			if bytes.HasSuffix(head, []byte(end[:n])) {
				missing = len(end) - n
			}
		}
		start := len(head)
		head = append(head, make([]byte, max(missing, shortestHead-start))...)
		n, err := r.Read(head[start:])
		head = head[:start+n]
		switch {
		case bytes.Contains(head[max(0, start-len(end)):], []byte(end)):
			return head, nil
		case len(head) > maxHead:
			return nil, fmt.Errorf("the head of the answer is longer than %d bytes", maxHead)
		case err == io.EOF:
			return nil, io.ErrUnexpectedEOF
		case err != nil:
			return nil, err
		}
	}
}
