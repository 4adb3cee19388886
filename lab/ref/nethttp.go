package ref

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/sample"
)

// The bodies of POST /sum. The body of POST /echo is a document.
type (
	sumRequest struct {
		Numbers []int64 `json:"numbers" wire:"1"`
	}
	sumReply struct {
		Sum int64 `json:"sum" wire:"1"`
	}
)

// httpJSON is what differs between the two net/http arms. size is the length
// of the body, -1 if unknown.
type httpJSON interface {
	read(body io.Reader, size int64, v any) error
	marshal(v any) ([]byte, error)
}

// stdJSON is encoding/json. A document is the value itself.
type stdJSON struct{}

func (stdJSON) read(body io.Reader, _ int64, v any) error {
	if doc, ok := v.(*everywire.Document); ok {
		v = &doc.Value
	}
	return stdjson.NewDecoder(body).Decode(v)
}

func (stdJSON) marshal(v any) ([]byte, error) {
	if doc, ok := v.(*everywire.Document); ok {
		v = doc.Value
	}
	return stdjson.Marshal(v)
}

// ourJSON is codec/json.
type ourJSON struct{}

func (ourJSON) read(body io.Reader, size int64, v any) error {
	var buf bytes.Buffer
	if size > 0 {
		buf.Grow(int(size) + bytes.MinRead)
	}
	if _, err := buf.ReadFrom(body); err != nil {
		return err
	}
	return json.Codec{}.Decode(buf.Bytes(), v)
}

func (ourJSON) marshal(v any) ([]byte, error) { return json.Codec{}.Append(nil, v) }

type httpServer struct {
	http.Server
	json    httpJSON
	options Options
}

func newHTTPServer(j httpJSON) func(Options) server {
	return func(o Options) server {
		s := &httpServer{json: j, options: o}
		mux := http.NewServeMux()
		switch o.Service {
		case "arith":
			mux.HandleFunc("POST /sum", s.sum)
		case "relay":
			mux.HandleFunc("GET /", s.sample)
		default:
			mux.HandleFunc("POST /echo", s.echo)
		}
		s.Handler = mux
		s.ReadHeaderTimeout = 10 * time.Second
		return s
	}
}

func (s *httpServer) sum(w http.ResponseWriter, r *http.Request) {
	var in sumRequest
	if !s.readRequest(w, r, &in) {
		return
	}
	var out sumReply
	for _, n := range in.Numbers {
		out.Sum += n
	}
	s.writeReply(w, &out)
}

func (s *httpServer) echo(w http.ResponseWriter, r *http.Request) {
	message := s.options.newMessage()
	if s.readRequest(w, r, message) {
		s.writeReply(w, message)
	}
}

func (s *httpServer) readRequest(w http.ResponseWriter, r *http.Request, v any) bool {
	limit := int64(s.options.MaxMessage)
	err := s.json.read(http.MaxBytesReader(w, r.Body, limit), min(r.ContentLength, limit), v)
	if err == nil {
		return true
	}
	code := http.StatusBadRequest
	if _, ok := errors.AsType[*http.MaxBytesError](err); ok {
		code = http.StatusRequestEntityTooLarge
	}
	http.Error(w, err.Error(), code)
	return false
}

func (s *httpServer) writeReply(w http.ResponseWriter, v any) {
	body, err := s.json.marshal(v)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(body) // the client has gone; there is nobody to tell
}

func (s *httpServer) serve(lis net.Listener) error {
	if err := s.Serve(lis); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

func (s *httpServer) stop(context.Context) error { return s.Close() }

type httpConn struct {
	unary
	client    http.Client
	transport *http.Transport
	base      string
	json      httpJSON
	options   Options
}

func dialHTTP(j httpJSON) func(context.Context, string, Dialer, Options) (Conn, error) {
	return func(_ context.Context, addr string, dial Dialer, o Options) (Conn, error) {
		t := &http.Transport{
			DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) },
			// The default of two idle connections would open a new one for
			// nearly every call of many callers.
			MaxIdleConnsPerHost: 10_000,
		}
		c := &httpConn{transport: t, base: "http://" + addr, json: j, options: o}
		c.client.Transport = t
		return c, nil
	}
}

func (c *httpConn) Invoke(ctx context.Context, _ string, in, out any, _ ...grpc.CallOption) error {
	if c.options.isMessage(in, out) {
		return c.call(ctx, http.MethodPost, "/echo", in, out)
	}
	if data, ok := out.(*sample.SampleData); ok {
		return c.getSample(ctx, data)
	}
	request, ok := in.(*arith.SumRequest)
	sum, okToo := out.(*arith.SumReply)
	if !ok || !okToo {
		return unknownMessage(in, out)
	}
	var reply sumReply
	err := c.call(ctx, http.MethodPost, "/sum", &sumRequest{Numbers: request.Numbers}, &reply)
	sum.Sum = reply.Sum
	return err
}

// call makes a request without a body if in is nil.
func (c *httpConn) call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		text, err := c.json.marshal(in)
		if err != nil {
			return status.Error(codes.InvalidArgument, err.Error())
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, method, c.base+path, body)
	if err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	if in != nil {
		req.Header.Set("Content-Type", "application/json")
	}
	resp, err := c.client.Do(req)
	if err != nil {
		return failed(ctx, err)
	}
	defer func() { _ = resp.Body.Close() }() // it was read to its end or is given up
	limit := int64(c.options.MaxMessage)
	limited := http.MaxBytesReader(nil, resp.Body, limit)
	if resp.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(limited, 1000)) // as much as there is
		return status.Error(codes.Unknown, fmt.Sprintf("HTTP %s: %s", resp.Status, strings.TrimSpace(string(text))))
	}
	if err := c.json.read(limited, min(resp.ContentLength, limit), out); err != nil {
		return failed(ctx, err)
	}
	// A connection is used again only if its reply was read to the end.
	if _, err := io.Copy(io.Discard, limited); err != nil {
		return failed(ctx, err)
	}
	return nil
}

func (c *httpConn) Close() error {
	c.transport.CloseIdleConnections()
	return nil
}
