package relay_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"reflect"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/types/known/durationpb"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/relay"
	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// An upstream answers calls by a function.
type upstream func(ctx context.Context, method string, reply any) error

func (u upstream) Invoke(ctx context.Context, path string, _, reply any, _ ...grpc.CallOption) error {
	return u(ctx, strings.TrimPrefix(path, "/"), reply)
}

func (u upstream) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

// right answers as sample does.
func right(_ context.Context, method string, reply any) error {
	all := sample.Data()
	switch r := reply.(type) {
	case *sample.SampleData:
		*r = all
	case *sample.SampleID:
		r.ID = all.ID
	case *sample.SampleName:
		r.Name = all.Name
	case *sample.SamplePassion:
		r.EnjoysCoding = all.EnjoysCoding
	default:
		return fmt.Errorf("%s with a reply of type %v", method, reflect.TypeOf(reply))
	}
	return nil
}

func get(ctx context.Context, u upstream, o relay.Options) (any, error) {
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	reg := everywire.NewRegistry()
	relay.Register(reg, u, o)
	m, _ := reg.Lookup("/" + relay.Get)
	return m.Unary(ctx, func(any) error { return nil })
}

var variants = map[string]relay.Options{"whole": {}, "parts": {FanOut: true}}

func serve(t *testing.T, reg *everywire.Registry, target string) wire.Target {
	t.Helper()
	server, err := wire.Serve(context.WithoutCancel(t.Context()), reg, []string{target})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Targets()[0]
}

// The same program calls the second service on whichever wire the connection
// speaks, and is called by REST.
func TestOverEveryWire(t *testing.T) {
	for _, target := range []string{
		"grpc://127.0.0.1:0", "rest://127.0.0.1:0", "connect://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0",
		"jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0?meta=on",
	} {
		for name, o := range variants {
			t.Run(target+" "+name, func(t *testing.T) {
				samples := everywire.NewRegistry()
				sample.Register(samples, sample.Options{Delay: time.Millisecond})
				text := serve(t, samples, strings.TrimSuffix(target, "?meta=on")).String()
				if strings.HasSuffix(target, "?meta=on") {
					text += "?meta=on"
				}
				conn, err := wire.Dial(text, wire.WithMethods(samples))
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				reg := everywire.NewRegistry()
				relay.Register(reg, conn, o)
				front := serve(t, reg, "rest://127.0.0.1:0")
				status, body := httpGet(t, "http://"+front.Addrs[0]+"/")
				if want := `{"id":1,"name":"Ada Lovelace","enjoysCoding":true}`; status != http.StatusOK || body != want {
					t.Errorf("GET /: %d %s, want %s", status, body, want)
				}
			})
		}
	}
}

// An upstream that is not there is 503 to who asks by HTTP, and the response has
// no address of the inside.
func TestUpstreamIsDown(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	l.Close()
	for _, shape := range []string{"grpc", "rest", "jsonrpc+tcp"} {
		conn, err := wire.Dial(shape + "://" + addr)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		reg := everywire.NewRegistry()
		var log bytes.Buffer
		relay.Register(reg, conn, relay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		front := serve(t, reg, "rest://127.0.0.1:0")
		code, body := httpGet(t, "http://"+front.Addrs[0]+"/")
		if code != http.StatusServiceUnavailable || !strings.Contains(body, "the upstream SampleDataService/GetSampleData is not available") {
			t.Errorf("over %s: %d %s", shape, code, body)
		}
		if strings.Contains(body, "127.0.0.1") || strings.Contains(body, "refused") {
			t.Errorf("over %s the response tells of the inside: %s", shape, body)
		}
		if !strings.Contains(log.String(), "refused") {
			t.Errorf("over %s the log does not tell the cause: %q", shape, log.String())
		}
	}
}

func httpGet(t *testing.T, url string) (code int, body string) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	resp, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp.StatusCode, strings.TrimSpace(string(text))
}

// What each failure of the upstream is to who asked.
func TestErrors(t *testing.T) {
	busy, err := status.New(codes.ResourceExhausted, "secret").WithDetails(&errdetails.RetryInfo{RetryDelay: durationpb.New(time.Second)})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		from error
		code codes.Code
		text string
		wait bool
	}{
		{status.Error(codes.Unavailable, "secret"), codes.Unavailable, "is not available", false},
		{status.Error(codes.Canceled, "secret"), codes.Unavailable, "is not available", false},
		{status.Error(codes.DeadlineExceeded, "secret"), codes.DeadlineExceeded, "did not answer in time", false},
		{busy.Err(), codes.Unavailable, "has too much to do", true},
		{status.Error(codes.ResourceExhausted, "secret"), codes.Internal, "failed: RESOURCE_EXHAUSTED", false},
		{status.Error(codes.InvalidArgument, "secret"), codes.Internal, "failed: INVALID_ARGUMENT", false},
		{status.Error(codes.NotFound, "secret"), codes.Internal, "failed: NOT_FOUND", false},
		{status.Error(codes.Unimplemented, "secret"), codes.Internal, "failed: UNIMPLEMENTED", false},
		{status.Error(codes.Unauthenticated, "secret"), codes.Internal, "failed: UNAUTHENTICATED", false},
		{status.Error(99, "secret"), codes.Internal, "failed: 99", false},
		{io.ErrUnexpectedEOF, codes.Internal, "failed: UNKNOWN", false},
	} {
		_, err := get(t.Context(), func(context.Context, string, any) error { return c.from }, relay.Options{})
		s := status.Convert(err)
		if s.Code() != c.code || s.Message() != "the upstream "+sample.GetSampleData+" "+c.text {
			t.Errorf("%v: %v", c.from, err)
		}
		var info *errdetails.ErrorInfo
		wait := false
		for _, d := range s.Details() {
			switch d := d.(type) {
			case *errdetails.ErrorInfo:
				info = d
			case *errdetails.RetryInfo:
				wait = true
			}
		}
		if info.GetReason() != relay.Reason || info.GetDomain() != relay.Domain || info.GetMetadata()["method"] != sample.GetSampleData || wait != c.wait {
			t.Errorf("%v: details %v", c.from, s.Details())
		}
	}
}

// Of three calls made at once the one that fails first is named, and the others
// are given up.
func TestFanOutFails(t *testing.T) {
	for _, failing := range []string{sample.GetID, sample.GetName, sample.GetPassion} {
		synctest.Test(t, func(t *testing.T) {
			var given atomic.Int32
			_, err := get(t.Context(), func(ctx context.Context, method string, _ any) error {
				if method == failing {
					return status.Error(codes.Unavailable, "down")
				}
				<-ctx.Done() // no reply will come
				given.Add(1)
				return status.FromContextError(ctx.Err()).Err()
			}, relay.Options{FanOut: true})
			if s := status.Convert(err); s.Code() != codes.Unavailable || s.Message() != "the upstream "+failing+" is not available" {
				t.Errorf("%s failed: %v", failing, err)
			}
			if given.Load() != 2 {
				t.Errorf("%d calls were given up, want 2", given.Load())
			}
		})
	}
}

// Three calls take the time of one.
func TestFanOutIsAtOnce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := time.Now()
		out, err := get(t.Context(), func(ctx context.Context, method string, reply any) error {
			time.Sleep(sample.DefaultDelay)
			return right(ctx, method, reply)
		}, relay.Options{FanOut: true})
		if err != nil || *out.(*sample.SampleData) != sample.Data() {
			t.Errorf("got %v, %v", out, err)
		}
		if took := time.Since(begin); took != sample.DefaultDelay {
			t.Errorf("it took %v, want %v", took, sample.DefaultDelay)
		}
	})
}

// The caller's deadline ends the calls made for it, and metadata pass as far as
// they should.
func TestWhatPasses(t *testing.T) {
	for name, o := range variants {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
			defer cancel()
			due, _ := ctx.Deadline()
			ctx = metadata.NewIncomingContext(ctx, metadata.Pairs(
				"traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=1", "tracestate", "b=2",
				"x-request-id", "7", "authorization", "Bearer secret", "cookie", "secret", "grpc-timeout", "1S"))
			want := metadata.Pairs("traceparent", "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01", "tracestate", "a=1", "tracestate", "b=2",
				"x-request-id", "7")
			_, err := get(ctx, func(ctx context.Context, method string, reply any) error {
				if d, ok := ctx.Deadline(); !ok || !d.Equal(due) {
					t.Errorf("%s has the deadline %v, want %v", method, d, due)
				}
				if md, _ := metadata.FromOutgoingContext(ctx); !reflect.DeepEqual(md, want) {
					t.Errorf("%s has the metadata %v, want %v", method, md, want)
				}
				return right(ctx, method, reply)
			}, o)
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// A caller whose time is up learns that, and not that the upstream failed.
func TestCallerIsGone(t *testing.T) {
	for name, o := range variants {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				hang := func(ctx context.Context, _ string, _ any) error {
					<-ctx.Done()
					return status.FromContextError(ctx.Err()).Err()
				}
				var log bytes.Buffer
				o.Logger = slog.New(slog.NewTextHandler(&log, nil))
				late, cancel := context.WithTimeout(t.Context(), time.Second)
				defer cancel()
				if _, err := get(late, hang, o); status.Code(err) != codes.DeadlineExceeded || !strings.Contains(err.Error(), "time was up") {
					t.Errorf("a deadline: %v", err)
				}
				gone, cancel := context.WithCancel(t.Context())
				time.AfterFunc(time.Second, cancel)
				if _, err := get(gone, hang, o); status.Code(err) != codes.Canceled || !strings.Contains(err.Error(), "the caller went") {
					t.Errorf("a caller that goes: %v", err)
				}
				if log.Len() > 0 {
					t.Errorf("it was logged as a failure: %s", log.String())
				}
			})
		})
	}
}

// An upstream that is down fills no disk.
func TestLogIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var log bytes.Buffer
		reg := everywire.NewRegistry()
		relay.Register(reg, upstream(func(context.Context, string, any) error { return status.Error(codes.Unavailable, "why") }),
			relay.Options{Logger: slog.New(slog.NewTextHandler(&log, nil))})
		m, _ := reg.Lookup("/" + relay.Get)
		var calls sync.WaitGroup
		for range 100 {
			calls.Go(func() {
				for range 3 {
					_, _ = m.Unary(t.Context(), func(any) error { return nil })
					time.Sleep(time.Second)
				}
			})
		}
		calls.Wait()
		if n := strings.Count(log.String(), "why"); n != 3 || !strings.Contains(log.String(), "more=99") {
			t.Errorf("300 failures in three seconds have %d lines:\n%s", n, log.String())
		}
	})
}
