package websocket

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
	"slices"
	"time"
)

// A Request is what a client asks for an upgrade with.
type Request struct {
	Host   string
	Target string // path and query, escaped; "" for "/"
	// Header has fields beside those of the handshake.
	Header http.Header
	// Subprotocols are offered. A server that takes none of them is refused only
	// if Demand is set.
	Subprotocols []string
	Demand       bool
}

// A RefusedError is an answer to the request for an upgrade that is none.
type RefusedError struct {
	Status     string // "404 Not Found"
	StatusCode int
	Header     http.Header
	Body       []byte // as far as it was there and not too long
}

func (e *RefusedError) Error() string { return "the server refused: HTTP status " + e.Status }

// Handshake makes a connection a WebSocket (RFC 6455, section 4.1), and reads no
// byte beyond the answer. The error is a *[RefusedError], ctx's cause, or says
// what is wrong with the connection or the answer. The caller closes conn then.
func Handshake(ctx context.Context, conn net.Conn, r *Request) (subprotocol string, err error) {
	stop := context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) }) // fails only on a closed connection
	subprotocol, err = r.exchange(conn)
	if !stop() {
		return "", context.Cause(ctx)
	}
	return subprotocol, err
}

func (r *Request) exchange(conn net.Conn) (subprotocol string, err error) {
	var random [16]byte
	_, _ = rand.Read(random[:]) // never fails
	key := base64.StdEncoding.EncodeToString(random[:])
	if err := r.write(conn, key); err != nil {
		return "", err
	}
	head, err := readAnswer(conn)
	if err != nil {
		return "", err
	}
	rest := bufio.NewReader(bytes.NewReader(head))
	res, err := http.ReadResponse(rest, nil)
	if err != nil {
		return "", err
	}
	defer res.Body.Close() //nolint:errcheck // there is nothing behind it
	if res.StatusCode != http.StatusSwitchingProtocols {
		body, _ := io.ReadAll(io.LimitReader(io.MultiReader(rest, conn), min(max(0, res.ContentLength), maxRefusal))) // what there is of it
		return "", &RefusedError{res.Status, res.StatusCode, res.Header, body}
	}
	if rest.Buffered() > 0 {
		return "", errors.New("the answer has too few fields")
	}
	return r.check(res.Header, key)
}

// maxRefusal is how much of the body of a refusal is read.
const maxRefusal = 64 << 10

func (r *Request) write(conn net.Conn, key string) error {
	target := r.Target
	if target == "" {
		target = "/"
	}
	var b bytes.Buffer
	b.WriteString("GET " + target + " HTTP/1.1\r\nHost: " + r.Host + "\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Key: " + key +
		"\r\nSec-WebSocket-Version: " + version + "\r\n")
	for i, p := range r.Subprotocols {
		if i == 0 {
			b.WriteString("Sec-WebSocket-Protocol: " + p)
		} else {
			b.WriteString(", " + p)
		}
		if i == len(r.Subprotocols)-1 {
			b.WriteString("\r\n")
		}
	}
	_ = r.Header.Write(&b) // a buffer takes everything
	b.WriteString("\r\n")
	_, err := conn.Write(b.Bytes())
	return err
}

// check reads the fields of an answer that upgrades.
func (r *Request) check(h http.Header, key string) (subprotocol string, err error) {
	offered := h["Sec-Websocket-Protocol"]
	switch {
	case !upgrades(h):
		return "", errors.New("the answer does not upgrade to websocket")
	case h.Get("Sec-WebSocket-Accept") != AcceptOf(key):
		return "", fmt.Errorf("the answer's Sec-WebSocket-Accept is %q, want %q", h.Get("Sec-WebSocket-Accept"), AcceptOf(key))
	case len(h["Sec-Websocket-Extensions"]) > 0 || len(offered) > 1 || len(offered) == 1 && !slices.Contains(r.Subprotocols, offered[0]):
		return "", errors.New("the answer has an extension or a subprotocol that was not asked for")
	case len(offered) == 1:
		return offered[0], nil
	case r.Demand:
		return "", fmt.Errorf("the server speaks none of the subprotocols %q", r.Subprotocols)
	}
	return "", nil
}

const (
	maxHead = 16 << 10
	// shortestHead is the length of the shortest answer that upgrades.
	shortestHead = len("HTTP/1.1 101\r\nUpgrade:websocket\r\nConnection:Upgrade\r\nSec-WebSocket-Accept:0123456789012345678901234567\r\n\r\n")
)

// readAnswer reads the head of a response. The first frame may be right behind it,
// and must be left to who reads them, so no more is asked for than the head must
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
