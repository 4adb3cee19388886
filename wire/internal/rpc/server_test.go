package rpc

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/stats"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

var quiet = slog.New(slog.DiscardHandler)

type doc = everywire.Document

// serverWith returns the configuration of a server with one method.
func serverWith(fn func(context.Context, *doc) (*doc, error)) (*ServerConfig, *everywire.Method) {
	reg := everywire.NewRegistry(everywire.WithLogger(quiet))
	everywire.Handle(reg, "s.S/M", fn)
	m, _ := reg.Lookup("/s.S/M")
	return &ServerConfig{Registry: reg, Limits: everywire.Limits{}.WithDefaults(), Logger: quiet}, m
}

func same(_ context.Context, in *doc) (*doc, error) { return in, nil }

func incoming(m *everywire.Method) *Incoming {
	return &Incoming{
		Method: m, Metadata: metadata.MD{}, Peer: new(peer.Peer),
		Decode: func(v any) error { v.(*doc).Value = "in"; return nil },
		Encode: func(any) (int, error) { return 2, nil },
	}
}

func TestStatusOf(t *testing.T) {
	for _, tc := range []struct {
		err  error
		code codes.Code
		text string
	}{
		{nil, codes.OK, ""},
		{errors.New("own"), codes.Unknown, "own"},
		{status.Error(codes.NotFound, "no"), codes.NotFound, "no"},
		{fmt.Errorf("here: %w", status.Error(codes.NotFound, "no")), codes.NotFound, "here: "},
		{context.Canceled, codes.Canceled, ""},
		{fmt.Errorf("here: %w", context.DeadlineExceeded), codes.DeadlineExceeded, "here: "},
		{okError{}, codes.Unknown, "fine"},
		{fmt.Errorf("here: %w", okError{}), codes.Unknown, "here: "},
		{status.Error(4242, "odd"), 4242, "odd"},
	} {
		if s := StatusOf(tc.err); s.Code() != tc.code || !strings.Contains(s.Message(), tc.text) {
			t.Errorf("the status of %v is %v, want %v %q", tc.err, s, tc.code, tc.text)
		}
	}
}

func TestLookup(t *testing.T) {
	c, _ := serverWith(same)
	for path, want := range map[string]string{
		"/s.S/M":    "",
		"/s.S/None": "unknown method None for service s.S",
		"/none/M":   "unknown service none",
		"s":         "malformed method name",
	} {
		_, err := c.Lookup(path)
		if want == "" && err != nil || want != "" && (status.Code(err) != codes.Unimplemented || !strings.Contains(err.Error(), want)) {
			t.Errorf("%q: got %v, want %q", path, err, want)
		}
	}
}

func TestUnary(t *testing.T) {
	panics := func() { panic("secret") }
	for name, tc := range map[string]struct {
		fn   func(context.Context, *doc) (*doc, error)
		edit func(*ServerConfig, *Incoming)
		code codes.Code
		text string
	}{
		"good":          {same, nil, codes.OK, ""},
		"nil reply":     {func(context.Context, *doc) (*doc, error) { return nil, nil }, nil, codes.Internal, "neither a reply nor an error"},
		"error":         {func(context.Context, *doc) (*doc, error) { return nil, errors.New("own") }, nil, codes.Unknown, "own"},
		"error says OK": {func(context.Context, *doc) (*doc, error) { return nil, okError{} }, nil, codes.Unknown, "fine"},
		"panic":         {func(context.Context, *doc) (*doc, error) { panics(); return nil, nil }, nil, codes.Internal, "panic in the handler of s.S/M"},
		"bad request":   {same, func(_ *ServerConfig, in *Incoming) { in.Decode = func(any) error { return errors.New("odd") } }, codes.InvalidArgument, "request of s.S/M: odd"},
		"request, status": {same, func(_ *ServerConfig, in *Incoming) {
			in.Decode = func(any) error { return status.Error(codes.DataLoss, "") }
		}, codes.DataLoss, ""},
		"panic, decoding": {same, func(_ *ServerConfig, in *Incoming) { in.Decode = func(any) error { panics(); return nil } }, codes.Internal, "s.S/M"},
		"bad reply": {same, func(_ *ServerConfig, in *Incoming) {
			in.Encode = func(any) (int, error) { return 0, errors.New("odd") }
		}, codes.Internal, "reply of s.S/M: odd"},
		"panic, encoding": {same, func(_ *ServerConfig, in *Incoming) { in.Encode = func(any) (int, error) { panics(); return 0, nil } }, codes.Internal, "panic in the call of s.S/M"},
		"large request":   {same, func(c *ServerConfig, in *Incoming) { in.Size = c.Limits.MaxMessage + 1 }, codes.ResourceExhausted, "received message larger than max"},
		"large reply": {same, func(c *ServerConfig, in *Incoming) {
			in.Encode = func(any) (int, error) { return c.Limits.MaxMessage + 1, nil }
		}, codes.ResourceExhausted, "trying to send"},
		"large metadata": {same, func(c *ServerConfig, in *Incoming) { c.Limits.MaxMetadata, in.Metadata = 3, metadata.Pairs("key", "1") }, codes.ResourceExhausted, "metadata of 4 bytes"},
		"deadline":       {waits, func(_ *ServerConfig, in *Incoming) { in.Timeout = time.Nanosecond }, codes.DeadlineExceeded, ""},
		"deadline past":  {waits, func(_ *ServerConfig, in *Incoming) { in.Timeout = -1 }, codes.DeadlineExceeded, ""},
	} {
		t.Run(name, func(t *testing.T) {
			c, m := serverWith(tc.fn)
			in := incoming(m)
			if tc.edit != nil {
				tc.edit(c, in)
			}
			out := c.Unary(t.Context(), in)
			if out.Status.Code() != tc.code || !strings.Contains(out.Status.Message(), tc.text) || strings.Contains(out.Status.Message(), "secret") {
				t.Errorf("got %v, want %v %q", out.Status, tc.code, tc.text)
			}
		})
	}
}

func waits(ctx context.Context, _ *doc) (*doc, error) {
	<-ctx.Done()
	return nil, ctx.Err()
}

// Headers can be set until they are sent, trailers until the handler returns;
// what a goroutine of the handler does afterwards fails, and its context has
// ended.
func TestTransportStream(t *testing.T) {
	var kept context.Context
	c, m := serverWith(func(ctx context.Context, in *doc) (*doc, error) {
		kept = ctx
		wantStatus(t, grpc.SetHeader(ctx, metadata.MD{"bad key": {""}}), codes.Internal, "metadata key")
		wantStatus(t, grpc.SetTrailer(ctx, metadata.MD{"k": {"\n"}}), codes.Internal, "metadata key")
		err := errors.Join(
			grpc.SetHeader(ctx, metadata.Pairs("h", "1")),
			grpc.SetHeader(ctx, nil),
			grpc.SendHeader(ctx, metadata.Pairs("h", "2")),
			grpc.SetTrailer(ctx, metadata.Pairs("t", "3")),
			grpc.SetTrailer(ctx, metadata.Pairs("t", "4")),
		)
		wantStatus(t, grpc.SetHeader(ctx, metadata.Pairs("h", "5")), codes.Internal, "have been sent")
		if name, _ := grpc.Method(ctx); name != "/s.S/M" {
			t.Errorf("the method is %q", name)
		}
		return in, err
	})
	out := c.Unary(t.Context(), incoming(m))
	if got := fmt.Sprint(out.Status.Code(), out.Header["h"], out.Trailer["t"]); got != "OK [1 2] [3 4]" {
		t.Errorf("got %s", got)
	}
	if kept.Err() == nil {
		t.Error("the context lives on")
	}
	wantStatus(t, grpc.SetHeader(kept, metadata.Pairs("h", "6")), codes.Internal, "have been sent")
	wantStatus(t, grpc.SetTrailer(kept, metadata.Pairs("t", "6")), codes.Internal, "the call is over")
	if len(out.Header["h"]) != 2 || len(out.Trailer["t"]) != 2 {
		t.Errorf("what came late was taken: %v %v", out.Header, out.Trailer)
	}
}

func TestServerStats(t *testing.T) {
	for code, want := range map[codes.Code][]string{
		codes.OK:       {"Tag /s.S/M failfast=false", "InHeader", "Begin", "InPayload", "OutPayload", "OutHeader", "OutTrailer", "End OK"},
		codes.NotFound: {"Tag /s.S/M failfast=false", "InHeader", "Begin", "InPayload", "OutHeader", "OutTrailer", "End NotFound"},
	} {
		h := new(tagger)
		c, m := serverWith(func(ctx context.Context, in *doc) (*doc, error) {
			if ctx.Value(h) != "tagged" {
				t.Error("the handler's context is not the tagged one")
			}
			return in, status.Error(code, "")
		})
		c.Stats = []stats.Handler{h}
		if out := c.Unary(t.Context(), incoming(m)); out.Status.Code() != code {
			t.Errorf("got %v", out.Status)
		}
		h.want(t, want...)
	}
}
