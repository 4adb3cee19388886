package rest

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// feedRequest says what a handler of a feed does.
type feedRequest struct {
	Name  string `wire:"1"`
	Count int64  `wire:"2"`
	Code  uint32 `wire:"3"` // how it ends
	Pad   int64  `wire:"4"` // bytes in each event
	Do    string `wire:"5"`
}

// A feedEvent is what it sends.
type feedEvent struct {
	Name    string `wire:"1"`
	Number  int64  `wire:"2"`
	EventID string `wire:"3"`
	Pad     string `wire:"4"`
}

// A feed is a service with a stream of each kind. Its handlers report how their
// contexts ended.
type feed struct {
	*everywire.Registry
	sent  atomic.Int64
	began chan struct{}
	ended chan error
	gate  chan struct{} // what handlers wait for that are told to
}

func newFeed() *feed {
	f := &feed{
		Registry: everywire.NewRegistry(everywire.WithLogger(discard)),
		began:    make(chan struct{}, 100), ended: make(chan error, 100), gate: make(chan struct{}),
	}
	everywire.HandleServerStream(f.Registry, "test.Feed/Watch", f.watch,
		everywire.WithRoute("GET", "/feeds/{name}", ""),
		everywire.WithRoute("PUT", "/feeds/{name}", "*"))
	everywire.HandleServerStream(f.Registry, "test.Feed/Names", f.watch,
		withRoute(everywire.Route{Verb: "GET", Pattern: "/feeds/{name}/names", ResponseBody: "name"}))
	everywire.HandleClientStream(f.Registry, "test.Feed/Upload", f.upload)
	everywire.HandleBidi(f.Registry, "test.Feed/Chat", f.chat, everywire.WithRoute("GET", "/rooms/{name}", ""))
	everywire.Handle(f.Registry, "test.Feed/Unary", echoItem)
	return f
}

func (f *feed) watch(in *feedRequest, stream grpc.ServerStreamingServer[feedEvent]) (err error) {
	defer func() { f.ended <- stream.Context().Err() }()
	f.began <- struct{}{}
	ctx := stream.Context()
	md, _ := metadata.FromIncomingContext(ctx)
	last := strings.Join(md.Get("last-event-id"), ",")
	if in.Do == "metadata" {
		if err := stream.SetHeader(metadata.Pairs("x-h", "1", "x-h-bin", "\xff")); err != nil {
			return err
		}
		stream.SetTrailer(metadata.Pairs("x-t", "2"))
	}
	if in.Do == "header first" {
		if err := stream.SendHeader(metadata.Pairs("x-h", "1")); err != nil {
			return err
		}
		<-f.gate
	}
	if in.Do == "silence" {
		if err := f.wait(ctx); err != nil {
			return err
		}
		if err := stream.SetHeader(metadata.Pairs("x-late", "1")); err != nil {
			return err
		}
	}
	for n := range in.Count {
		e := &feedEvent{Name: in.Name, Number: n, EventID: fmt.Sprint(last, "e", n), Pad: strings.Repeat("x", int(in.Pad))}
		if in.Do == "odd ids" {
			e.EventID = []string{"", "a\nb", goodbyeID, "ä"}[n%4]
		}
		if err := stream.Send(e); err != nil {
			return err
		}
		f.sent.Add(1)
		if in.Do == "gate" {
			if err := f.wait(ctx); err != nil {
				return err
			}
		}
	}
	switch in.Do {
	case "panic":
		panic("told to")
	case "exit":
		runtime.Goexit()
	}
	if in.Code != 0 {
		return status.Error(codes.Code(in.Code), "as asked\nfor")
	}
	return nil
}

// wait waits for the gate.
func (f *feed) wait(ctx context.Context) error {
	select {
	case <-f.gate:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (f *feed) upload(stream grpc.ClientStreamingServer[feedRequest, feedEvent]) error {
	out := &feedEvent{}
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			return stream.SendAndClose(out)
		}
		if err != nil {
			return err
		}
		out.Name += in.Name
		out.Number += in.Count
	}
}

func (f *feed) chat(stream grpc.BidiStreamingServer[feedRequest, feedEvent]) error {
	defer func() { f.ended <- stream.Context().Err() }()
	f.began <- struct{}{}
	md, _ := metadata.FromIncomingContext(stream.Context())
	for {
		in, err := stream.Recv()
		if errors.Is(err, io.EOF) {
			stream.SetTrailer(metadata.Pairs("x-t", "2"))
			return nil
		}
		if err != nil {
			return err
		}
		switch in.Do {
		case "panic":
			panic("told to")
		case "exit":
			runtime.Goexit()
		case "metadata":
			in.Name = strings.Join(md.Get("x-m"), ",") + "|" + strings.Join(md.Get("x-m-bin"), ",")
			if err := stream.SetHeader(metadata.Pairs("x-h", "1")); err != nil {
				return err
			}
		case "deadline":
			d, ok := stream.Context().Deadline()
			in.Name = fmt.Sprint(ok, time.Until(d) > 50*time.Minute)
		}
		if in.Code != 0 {
			return status.Error(codes.Code(in.Code), "as asked")
		}
		if err := stream.Send(&feedEvent{Name: in.Name, Number: in.Count, Pad: strings.Repeat("x", int(in.Pad))}); err != nil {
			return err
		}
	}
}

// patience bounds the waits of these tests.
const patience = 20 * time.Second

func await[T any](t testing.TB, what string, c <-chan T) (v T) {
	t.Helper()
	select {
	case v = <-c:
	case <-time.After(patience):
		t.Fatalf("%s did not happen within %v", what, patience)
	}
	return v
}

// A handPeer is one end of a connection, by hand.
type handPeer struct {
	net.Conn
	t testing.TB
	r *bufio.Reader
}

func dialPeer(t testing.TB, addr string) *handPeer {
	t.Helper()
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() }) // some tests have closed it
	return newHandPeer(t, conn)
}

func newHandPeer(t testing.TB, conn net.Conn) *handPeer {
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		t.Error(err)
	}
	return &handPeer{conn, t, bufio.NewReader(conn)}
}

func (p *handPeer) send(s string) {
	p.t.Helper()
	if _, err := io.WriteString(p, s); err != nil {
		p.t.Fatal(err)
	}
}

// request sends a request without a body, or one of JSON.
func (p *handPeer) request(line, body string, head ...string) *http.Response {
	p.t.Helper()
	b := strings.Join(append([]string{line + " HTTP/1.1", "Host: test"}, head...), "\r\n") + "\r\n"
	if body != "" {
		b += "Content-Type: application/json\r\nContent-Length: " + itoa(len(body)) + "\r\n"
	}
	p.send(b + "\r\n" + body)
	verb, _, _ := strings.Cut(line, " ")
	res, err := http.ReadResponse(p.r, &http.Request{Method: verb})
	if err != nil {
		p.t.Fatal(err)
	}
	return res
}

// lines reads a body to its end. whole is false if it was broken off.
func lines(t testing.TB, body io.Reader) (text string, whole bool) {
	t.Helper()
	b, err := io.ReadAll(body)
	if err != nil && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("the body ends with %v", err)
	}
	return string(b), err == nil
}
