package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"reflect"
	"sync/atomic"
	"time"
)

var (
	netHTTP = Peer{
		Name: "net/http", Kind: HTTP, Form: "encoding/json, HTTP/1.1", Documents: true,
		Serve: func(lis net.Listener) error { return serveHTTP(lis, httpEchoes(), false) },
		Dial:  dialHTTP(false, "/echo", "/document"),
	}
	netHTTP2 = Peer{
		Name: "net/http-h2c", Kind: HTTP, Form: "encoding/json, HTTP/2", Shared: true, Documents: true,
		Serve: func(lis net.Listener) error { return serveHTTP(lis, httpEchoes(), true) },
		Dial:  dialHTTP(true, "/echo", "/document"),
	}
)

func httpEchoes() http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("POST /echo", httpEcho[Message])
	mux.HandleFunc("POST /document", httpEcho[any])
	return mux
}

// serveHTTP serves with net/http, over HTTP/1.1 or cleartext HTTP/2.
func serveHTTP(lis net.Listener, h http.Handler, http2 bool) error {
	srv := http.Server{Handler: h, Protocols: protocols(http2), ReadHeaderTimeout: 10 * time.Second}
	return srv.Serve(lis)
}

// newTransport makes an HTTP client of one connection.
func newTransport(http2 bool) *http.Transport {
	return &http.Transport{Protocols: protocols(http2), MaxConnsPerHost: 1, MaxIdleConnsPerHost: 1, DisableCompression: true}
}

func protocols(http2 bool) *http.Protocols {
	p := new(http.Protocols)
	p.SetHTTP1(!http2)
	p.SetUnencryptedHTTP2(http2)
	return p
}

func httpEcho[T any](w http.ResponseWriter, r *http.Request) {
	var m T
	if err := json.NewDecoder(http.MaxBytesReader(w, r.Body, MaxMessage)).Decode(&m); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	body, err := json.Marshal(&m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client has gone; there is nobody to tell
}

// An httpConn is net/http's client of one connection, with encoding/json.
type httpConn struct {
	client         http.Client
	echo, document string // URLs
}

func dialHTTP(http2 bool, echo, document string) func(context.Context, string) (Conn, error) {
	return func(_ context.Context, addr string) (Conn, error) {
		return &httpConn{http.Client{Transport: newTransport(http2)}, "http://" + addr + echo, "http://" + addr + document}, nil
	}
}

func (c *httpConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	var m Message
	err := c.post(ctx, c.echo, &Message{Seq: seq, Text: text}, &m)
	return m.Seq, m.Text, err
}

// Document is [Documenter]'s.
func (c *httpConn) Document(text []byte) (func(context.Context) error, error) {
	return documentCall(text, json.Unmarshal, func(ctx context.Context, in, out *any) error {
		return c.post(ctx, c.document, in, out)
	})
}

// documentCall makes what [Documenter] returns of a peer that holds documents as
// Go's plain values.
func documentCall(text []byte, unmarshal func([]byte, any) error, echo func(ctx context.Context, in, out *any) error) (func(context.Context) error, error) {
	var in any
	if err := unmarshal(text, &in); err != nil {
		return nil, err
	}
	var check checker
	return func(ctx context.Context) error {
		var out any
		if err := echo(ctx, &in, &out); err != nil {
			return err
		}
		return check.document(members(in) == members(out), func() bool { return reflect.DeepEqual(in, out) })
	}, nil
}

func members(v any) int {
	m, _ := v.(map[string]any)
	return len(m)
}

// A checker looks at every document that comes back, and at one in 64 as a
// whole: to compare all would take longer than some peers' calls.
type checker struct{ n atomic.Uint64 }

func (c *checker) document(alike bool, same func() bool) error {
	if !alike || c.n.Add(1)%64 == 1 && !same() {
		return errors.New("wrong reply: another document")
	}
	return nil
}

func (c *httpConn) post(ctx context.Context, url string, in, out any) error {
	body, err := json.Marshal(in)
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("HTTP status %s", resp.Status)
	}
	limited := io.LimitReader(resp.Body, MaxMessage)
	if err := json.NewDecoder(limited).Decode(out); err != nil {
		return err
	}
	// The connection serves another call only if its body was read to the end.
	_, err = io.Copy(io.Discard, limited)
	return err
}

func (c *httpConn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
