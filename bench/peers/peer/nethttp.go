package peer

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"
)

var (
	netHTTP = Peer{
		Name: "net/http", Kind: HTTP, Form: "encoding/json, HTTP/1.1",
		Serve: func(lis net.Listener) error { return serveHTTP(lis, http.HandlerFunc(httpEcho), false) },
		Dial:  dialHTTP(false),
	}
	netHTTP2 = Peer{
		Name: "net/http-h2c", Kind: HTTP, Form: "encoding/json, HTTP/2", Shared: true,
		Serve: func(lis net.Listener) error { return serveHTTP(lis, http.HandlerFunc(httpEcho), true) },
		Dial:  dialHTTP(true),
	}
)

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

func httpEcho(w http.ResponseWriter, r *http.Request) {
	var m Message
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

type httpConn struct {
	client http.Client
	url    string
}

func dialHTTP(http2 bool) func(context.Context, string) (Conn, error) {
	return func(_ context.Context, addr string) (Conn, error) {
		return &httpConn{http.Client{Transport: newTransport(http2)}, "http://" + addr + "/echo"}, nil
	}
}

func (c *httpConn) Call(ctx context.Context, seq int64, text string) (int64, string, error) {
	body, err := json.Marshal(&Message{Seq: seq, Text: text})
	if err != nil {
		return 0, "", err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.url, bytes.NewReader(body))
	if err != nil {
		return 0, "", err
	}
	req.Header.Set("Content-Type", "application/json")
	resp, err := c.client.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer func() { _ = resp.Body.Close() }() // it has been read
	if resp.StatusCode != http.StatusOK {
		return 0, "", fmt.Errorf("HTTP status %s", resp.Status)
	}
	var m Message
	limited := io.LimitReader(resp.Body, MaxMessage)
	if err := json.NewDecoder(limited).Decode(&m); err != nil {
		return 0, "", err
	}
	// The connection serves another call only if its body was read to the end.
	_, err = io.Copy(io.Discard, limited)
	return m.Seq, m.Text, err
}

func (c *httpConn) Close() error {
	c.client.CloseIdleConnections()
	return nil
}
