package rpc

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

func clientConfig() *ClientConfig {
	return &ClientConfig{Target: "test://x", Limits: everywire.Limits{}.WithDefaults()}
}

func wantStatus(t *testing.T, err error, code codes.Code, text string) {
	t.Helper()
	if status.Code(err) != code || err != nil && !strings.Contains(err.Error(), text) {
		t.Errorf("got %v, want the code %v and %q", err, code, text)
	}
}

// never is a round trip that must not be made.
func never(t *testing.T) func(context.Context, *Outgoing) error {
	return func(context.Context, *Outgoing) error {
		t.Error("the call was sent")
		return nil
	}
}

func TestCallOptions(t *testing.T) {
	var header, trailer metadata.MD
	var p peer.Peer
	var order []string
	finish := func(name string) grpc.CallOption {
		return grpc.OnFinish(func(err error) {
			order = append(order, fmt.Sprint(name, " ", status.Code(err), " ", header.Get("h"), trailer.Get("t")))
		})
	}
	err := clientConfig().Invoke(t.Context(), "/s/m", nil, nil, []grpc.CallOption{
		finish("first"), grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&p), finish("second"),
		grpc.WaitForReady(true), grpc.MaxCallSendMsgSize(10), grpc.MaxCallRecvMsgSize(20), everywire.OneWayCallOption{},
		grpc.StaticMethod(), grpc.EmptyCallOption{},
	}, func(_ context.Context, call *Outgoing) error {
		if !call.WantMeta || !call.WantPeer || !call.WaitForReady || !call.OneWay || call.Path != "/s/m" || call.Method != nil {
			t.Errorf("the call is %+v", call)
		}
		wantStatus(t, call.Sent(10), codes.OK, "")
		wantStatus(t, call.Sent(11), codes.ResourceExhausted, "trying to send message larger than max (11 vs. 10)")
		wantStatus(t, call.CheckReceived(20), codes.OK, "")
		wantStatus(t, call.CheckReceived(21), codes.ResourceExhausted, "received message larger than max (21 vs. 20)")
		if call.MaxReceive() != 20 {
			t.Errorf("it may receive %d", call.MaxReceive())
		}
		call.Header, call.Trailer = metadata.Pairs("h", "1"), metadata.Pairs("t", "2")
		call.Peer = &peer.Peer{Addr: &net.UnixAddr{Name: "a"}}
		return status.Error(codes.NotFound, "no")
	})
	wantStatus(t, err, codes.NotFound, "no")
	// Header and trailer are there when OnFinish runs, also those of an error.
	if want := []string{"first NotFound [1] [2]", "second NotFound [1] [2]"}; !slices.Equal(order, want) {
		t.Errorf("OnFinish ran %q, want %q", order, want)
	}
	if p.Addr == nil || p.Addr.String() != "a" {
		t.Errorf("the peer is %v", p)
	}
}

// An option without meaning fails the call before it is sent; all OnFinish
// options hear of it, also those behind it.
func TestCallOptionRefused(t *testing.T) {
	for _, opt := range []grpc.CallOption{
		grpc.UseCompressor("gzip"), grpc.CallContentSubtype("json"), grpc.CallAuthority("x"), grpc.MaxRetryRPCBufferSize(1),
	} {
		var ended []error
		finish := grpc.OnFinish(func(err error) { ended = append(ended, err) })
		err := clientConfig().Invoke(t.Context(), "/s/m", nil, nil, []grpc.CallOption{finish, opt, finish}, never(t))
		wantStatus(t, err, codes.Unimplemented, fmt.Sprintf("%T", opt))
		if len(ended) != 2 || !errors.Is(ended[0], err) || !errors.Is(ended[1], err) {
			t.Errorf("%T: OnFinish got %v", opt, ended)
		}
	}
}

func TestContextHasEnded(t *testing.T) {
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	past, cancel := context.WithDeadline(t.Context(), time.Now().Add(-time.Hour))
	defer cancel()
	for ctx, code := range map[context.Context]codes.Code{canceled: codes.Canceled, past: codes.DeadlineExceeded} {
		finished := 0
		err := clientConfig().Invoke(ctx, "/s/m", nil, nil, []grpc.CallOption{grpc.OnFinish(func(error) { finished++ })}, never(t))
		wantStatus(t, err, code, "")
		if finished != 1 {
			t.Errorf("OnFinish ran %d times", finished)
		}
	}
}

type testCreds struct {
	md     map[string]string
	err    error
	secure bool
}

func (c testCreds) GetRequestMetadata(_ context.Context, uri ...string) (map[string]string, error) {
	if !slices.Equal(uri, []string{"test://x"}) {
		return nil, fmt.Errorf("asked for %q", uri)
	}
	return c.md, c.err
}

func (c testCreds) RequireTransportSecurity() bool { return c.secure }

func TestCredentials(t *testing.T) {
	for name, tc := range map[string]struct {
		creds testCreds
		tls   bool
		want  metadata.MD // nil if the call must not be sent
		code  codes.Code
		text  string
	}{
		"added":              {creds: testCreds{md: map[string]string{"Token": "t"}}, want: metadata.MD{"own": {"1"}, "token": {"t"}}},
		"beside its own":     {creds: testCreds{md: map[string]string{"own": "2"}}, want: metadata.MD{"own": {"1", "2"}}},
		"nothing":            {creds: testCreds{}, want: metadata.MD{"own": {"1"}}},
		"secure, over TLS":   {creds: testCreds{secure: true, md: map[string]string{"token": "t"}}, tls: true, want: metadata.MD{"own": {"1"}, "token": {"t"}}},
		"secure, cleartext":  {creds: testCreds{secure: true}, code: codes.Unauthenticated, text: "only be sent over TLS"},
		"fails":              {creds: testCreds{err: errors.New("expired")}, code: codes.Unauthenticated, text: "expired"},
		"fails with status":  {creds: testCreds{err: status.Error(codes.PermissionDenied, "no")}, code: codes.PermissionDenied, text: "no"},
		"fails as a service": {creds: testCreds{err: status.Error(codes.NotFound, "no")}, code: codes.Internal, text: "may not have"},
		"line break":         {creds: testCreds{md: map[string]string{"token": "a\nb"}}, code: codes.Internal, text: "non-printable"},
		"bad key":            {creds: testCreds{md: map[string]string{"to ken": "t"}}, code: codes.Internal, text: "outside"},
		"too large":          {creds: testCreds{md: map[string]string{"token": strings.Repeat("x", 65<<10)}}, code: codes.ResourceExhausted, text: "metadata of"},
	} {
		t.Run(name, func(t *testing.T) {
			c := clientConfig()
			if tc.tls {
				c.TLS = new(tls.Config)
			}
			ctx := metadata.AppendToOutgoingContext(t.Context(), "Own", "1")
			var sent metadata.MD
			err := c.Invoke(ctx, "/s/m", nil, nil, []grpc.CallOption{grpc.PerRPCCredentials(tc.creds)}, func(_ context.Context, call *Outgoing) error {
				sent = call.Metadata
				return nil
			})
			wantStatus(t, err, tc.code, tc.text)
			if !reflect.DeepEqual(sent, tc.want) {
				t.Errorf("sent %v, want %v", sent, tc.want)
			}
		})
	}
}

func TestValidateMetadata(t *testing.T) {
	for _, tc := range []struct {
		key, value, want string
	}{
		{"a", "", ""},
		{"a-b_c.9", " !~", ""},
		{":authority", "x", ""}, // ignored by all
		{"x-bin", "\x00\xff\n", ""},
		{"", "x", "empty key"},
		{"A", "x", "outside"},
		{"a b", "x", "outside"},
		{"é", "x", "outside"},
		{"a\r\nb", "x", "outside"},
		{"a", "\x00", "non-printable"},
		{"a", "\r\nx: y", "non-printable"},
		{"a", "\x7f", "non-printable"},
		{"a", "é", "non-printable"},
		{"-bin", "\xff", ""},
	} {
		err := ValidateMetadata(metadata.MD{tc.key: {"fine", tc.value}})
		if (err == nil) != (tc.want == "") || err != nil && !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%q: %q gives %v, want %q", tc.key, tc.value, err, tc.want)
		}
	}
	if err := ValidateMetadata(nil); err != nil {
		t.Error(err)
	}
}

func TestSizeOf(t *testing.T) {
	for want, md := range map[int]metadata.MD{0: {"none": nil}, 5: {"key": {"12"}}, 9: {"key": {"", "123"}}} {
		if got := SizeOf(md); got != want {
			t.Errorf("%v has %d bytes, want %d", md, got, want)
		}
	}
}

var errUnreachable = &DialError{Target: "test://x", Err: errors.New("refused")}

// A call that waits for ready backs off from 10 ms to 1 s.
func TestReach(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		start := time.Now()
		var at []int64 // milliseconds
		call := &Outgoing{WaitForReady: true}
		err := call.Reach(t.Context(), func() error {
			if at = append(at, time.Since(start).Milliseconds()); len(at) < 10 {
				return fmt.Errorf("wrapped: %w", errUnreachable)
			}
			return nil
		})
		if err != nil {
			t.Error(err)
		}
		want := []int64{0, 10, 30, 70, 150, 310, 630, 1270, 2270, 3270}
		if !slices.Equal(at, want) {
			t.Errorf("it tried after %v ms, want %v", at, want)
		}
	})
}

func TestReachEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		refused := func() error { return errUnreachable }
		start := time.Now()
		ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
		defer cancel()
		err := (&Outgoing{WaitForReady: true}).Reach(ctx, refused)
		wantStatus(t, err, codes.DeadlineExceeded, "cannot reach test://x: refused")
		if d := time.Since(start); d != 3*time.Second {
			t.Errorf("it ended after %v", d)
		}
		canceled, cancel := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, cancel)
		wantStatus(t, (&Outgoing{WaitForReady: true}).Reach(canceled, refused), codes.Canceled, "while waiting for a server")
	})
	// Others do not wait, and nothing else is tried again.
	for _, tc := range []struct {
		wait bool
		err  error
	}{{false, errUnreachable}, {true, errors.New("broken")}, {true, status.Error(codes.Unavailable, "")}, {true, nil}} {
		tries := 0
		err := (&Outgoing{WaitForReady: tc.wait}).Reach(t.Context(), func() error { tries++; return tc.err })
		if !errors.Is(err, tc.err) || tries != 1 {
			t.Errorf("%v was tried %d times and gave %v", tc.err, tries, err)
		}
	}
}

func TestClientError(t *testing.T) {
	live := t.Context()
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	broken := errors.New("broken pipe")
	for name, tc := range map[string]struct {
		ctx  context.Context
		err  error
		code codes.Code
		text string
	}{
		"nil":                           {live, nil, codes.OK, ""},
		"nil, context ended":            {canceled, nil, codes.OK, ""},
		"status":                        {live, status.Error(codes.NotFound, "no"), codes.NotFound, "no"},
		"status, context ended":         {canceled, status.Error(codes.NotFound, "no"), codes.NotFound, "no"},
		"wrapped status":                {live, fmt.Errorf("here: %w", status.Error(codes.NotFound, "no")), codes.NotFound, "here: "},
		"wrapped status, context ended": {canceled, fmt.Errorf("here: %w", status.Error(codes.NotFound, "no")), codes.Canceled, ""},
		"says OK":                       {live, okError{}, codes.Unknown, "fine"},
		"context's":                     {live, context.DeadlineExceeded, codes.DeadlineExceeded, ""},
		"wrapped context's":             {live, fmt.Errorf("here: %w", context.Canceled), codes.Canceled, ""},
		"broken":                        {live, broken, codes.Unavailable, "broken pipe"},
		"broken, context ended":         {canceled, broken, codes.Canceled, "context canceled"},
		"unreachable":                   {live, errUnreachable, codes.Unavailable, "cannot reach test://x: refused"},
		"unreachable, context ended":    {canceled, errUnreachable, codes.Canceled, ""},
	} {
		t.Run(name, func(t *testing.T) { wantStatus(t, callError(tc.ctx, tc.err), tc.code, tc.text) })
	}
}

type okError struct{}

func (okError) Error() string              { return "fine" }
func (okError) GRPCStatus() *status.Status { return status.New(codes.OK, "fine") }

// tagger is a stats.Handler that adds metadata to calls and keeps events.
type tagger struct {
	add    metadata.MD
	events []string
}

func (h *tagger) TagRPC(ctx context.Context, info *stats.RPCTagInfo) context.Context {
	h.events = append(h.events, fmt.Sprintf("Tag %s failfast=%v", info.FullMethodName, info.FailFast))
	for k, vs := range h.add {
		for _, v := range vs {
			ctx = metadata.AppendToOutgoingContext(ctx, k, v)
		}
	}
	return context.WithValue(ctx, h, "tagged")
}

func (h *tagger) HandleRPC(ctx context.Context, ev stats.RPCStats) {
	event := strings.TrimPrefix(fmt.Sprintf("%T", ev), "*stats.")
	if ctx.Value(h) != "tagged" {
		event += " without its tag"
	}
	if end, ok := ev.(*stats.End); ok {
		event += " " + status.Code(end.Error).String()
	}
	h.events = append(h.events, event)
}

func (*tagger) TagConn(ctx context.Context, _ *stats.ConnTagInfo) context.Context { return ctx }
func (*tagger) HandleConn(context.Context, stats.ConnStats)                       {}

func (h *tagger) want(t *testing.T, want ...string) {
	t.Helper()
	if !slices.Equal(h.events, want) {
		t.Errorf("the events are\n%q, want\n%q", h.events, want)
	}
}

func TestClientStats(t *testing.T) {
	h := &tagger{add: metadata.MD{"traceparent": {"t"}}}
	c := clientConfig()
	c.Stats = []stats.Handler{h}
	err := c.Invoke(t.Context(), "/s/m", nil, nil, nil, func(ctx context.Context, call *Outgoing) error {
		if got := call.Metadata.Get("traceparent"); len(got) != 1 || !call.WantPeer || ctx.Value(h) != "tagged" {
			t.Errorf("the handler's metadata is %v", got)
		}
		if err := call.Sent(3); err != nil {
			return err
		}
		call.Header = metadata.Pairs("h", "1")
		call.Received(4)
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	h.want(t, "Tag /s/m failfast=true", "Begin", "OutHeader", "OutPayload", "InPayload", "InHeader", "InTrailer", "End OK")
}

// A call that is not sent has a beginning and an end.
func TestClientStatsOfRefusals(t *testing.T) {
	h := &tagger{add: metadata.MD{"bad": {"\n"}}}
	c := clientConfig()
	c.Stats = []stats.Handler{h}
	err := c.Invoke(t.Context(), "/s/m", nil, nil, []grpc.CallOption{grpc.WaitForReady(true)}, never(t))
	wantStatus(t, err, codes.Internal, "non-printable")
	h.want(t, "Tag /s/m failfast=false", "Begin", "InTrailer", "End Internal")
}

// An attempt to connect is bounded even if nobody else bounds it, and its
// failure names every address.
func TestDial(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := clientConfig()
		c.Addrs = []string{"a", "b"}
		c.DialAddr = func(ctx context.Context, addr string) (net.Conn, error) {
			<-ctx.Done()
			return nil, fmt.Errorf("%s: %w", addr, ctx.Err())
		}
		start := time.Now()
		_, err := c.Dial(context.WithoutCancel(t.Context()))
		var unreachable *DialError
		if !errors.As(err, &unreachable) || !strings.Contains(err.Error(), "a: ") || !strings.Contains(err.Error(), "b: ") {
			t.Errorf("got %v", err)
		}
		if d := time.Since(start); d != dialTimeout {
			t.Errorf("it took %v", d)
		}
	})
}

// A server that says nothing does not hold up a TLS handshake for ever.
func TestDialHandshake(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		defer theirs.Close()
		c := clientConfig()
		c.Addrs = []string{"a"}
		c.TLS = &tls.Config{ServerName: "x", MinVersion: tls.VersionTLS12}
		c.DialAddr = func(context.Context, string) (net.Conn, error) { return ours, nil }
		_, err := c.Dial(context.WithoutCancel(t.Context()))
		wantStatus(t, err, codes.Unavailable, "cannot reach test://x")
		if _, err := ours.Write([]byte("x")); err == nil {
			t.Error("the connection is open")
		}
	})
}
