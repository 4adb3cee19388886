package rpc

import (
	"context"
	"errors"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// pipeTo is a connection to a server whose streams run the script.
func pipeTo(t *testing.T, run func(grpc.ServerStream) error) *pipeConn {
	reg := registryFor(func(s grpc.ServerStream, _ func(string, ...any)) error { return run(s) }, func(string, ...any) {})
	return newPipeConn(t, &ServerConfig{Registry: reg, Limits: everywire.Limits{}.WithDefaults(), Logger: quiet})
}

func untilEnd(s grpc.ServerStream) error {
	<-s.Context().Done()
	return s.Context().Err()
}

func TestStreamOptionsAreDelivered(t *testing.T) {
	conn := pipeTo(t, func(s grpc.ServerStream) error {
		s.SetTrailer(metadata.Pairs("t", "1"))
		return s.SetHeader(metadata.Pairs("h", "1"))
	})
	var header, trailer metadata.MD
	var from peer.Peer
	s, err := conn.NewStream(t.Context(), bidiDesc, "/s.S/Both", grpc.Header(&header), grpc.Trailer(&trailer), grpc.Peer(&from))
	if err != nil {
		t.Fatal(err)
	}
	for s.RecvMsg(new(number)) == nil {
	}
	if header.Get("h") == nil || trailer.Get("t") == nil || from.AuthInfo == nil {
		t.Errorf("got %v, %v, %v", header, trailer, from)
	}
}

func TestStreamIsRefused(t *testing.T) {
	conn := pipeTo(t, untilEnd)
	for name, tc := range map[string]struct {
		path string
		opts []grpc.CallOption
		ctx  context.Context
		want codes.Code
	}{
		"a one-way call":    {"/s.S/Both", []grpc.CallOption{everywire.OneWayCallOption{}}, t.Context(), codes.Unimplemented},
		"a codec":           {"/s.S/Both", []grpc.CallOption{grpc.CallContentSubtype("x")}, t.Context(), codes.Unimplemented},
		"no such method":    {"/s.S/No", nil, t.Context(), codes.Unimplemented},
		"metadata":          {"/s.S/Both", nil, metadata.AppendToOutgoingContext(t.Context(), "x", "\n"), codes.Internal},
		"too much of it":    {"/s.S/Both", nil, metadata.AppendToOutgoingContext(t.Context(), "x", strings.Repeat("x", 70_000)), codes.ResourceExhausted},
		"a secret in clear": {"/s.S/Both", []grpc.CallOption{grpc.PerRPCCredentials(testCreds{secure: true})}, t.Context(), codes.Unauthenticated},
	} {
		t.Run(name, func(t *testing.T) {
			var finished []error
			s, err := conn.NewStream(tc.ctx, bidiDesc, tc.path, append(tc.opts, grpc.OnFinish(func(err error) { finished = append(finished, err) }))...)
			if s != nil || status.Code(err) != tc.want {
				t.Errorf("got %v, %v, want the code %v", s, err, tc.want)
			}
			if len(finished) != 1 || !errors.Is(finished[0], err) {
				t.Errorf("OnFinish got %v", finished)
			}
		})
	}
	if len(conn.opened) > 0 {
		t.Error("a stream was opened")
	}
}

func TestServerRefusesMetadata(t *testing.T) {
	conn := pipeTo(t, func(grpc.ServerStream) error {
		t.Error("the handler ran")
		return nil
	})
	conn.server.Limits.MaxMetadata = 10
	s, err := conn.NewStream(metadata.AppendToOutgoingContext(t.Context(), "x", "more than ten"), bidiDesc, "/s.S/Both")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s.RecvMsg(new(number)), codes.ResourceExhausted, "metadata")
}

// A stream whose connection breaks is reported though nobody reads from it.
func TestStreamBreaks(t *testing.T) {
	conn := pipeTo(t, untilEnd)
	finished := make(chan error, 2)
	s, err := conn.NewStream(t.Context(), bidiDesc, "/s.S/Both", grpc.OnFinish(func(err error) { finished <- err }))
	if err != nil {
		t.Fatal(err)
	}
	conn.opened[0].breakOff(errors.New("the cable was cut"))
	wantStatus(t, <-finished, codes.Unavailable, "the cable was cut")
	wantStatus(t, s.RecvMsg(new(number)), codes.Unavailable, "the cable was cut")
	if md, err := s.Header(); md != nil || err != nil {
		t.Errorf("headers: %v, %v", md, err)
	}
	if len(finished) > 0 {
		t.Error("OnFinish was called twice")
	}
}

func TestStreamDeadlines(t *testing.T) {
	t.Run("of the client", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := pipeTo(t, untilEnd)
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			defer cancel()
			begin := time.Now()
			s, err := conn.NewStream(ctx, bidiDesc, "/s.S/Both")
			if err != nil {
				t.Fatal(err)
			}
			wantStatus(t, s.RecvMsg(new(number)), codes.DeadlineExceeded, "")
			if took := time.Since(begin); took != time.Second {
				t.Errorf("it took %v", took)
			}
			conn.handlers.Wait() // Abandon reached the handler
		})
	})
	t.Run("at the server", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			conn := pipeTo(t, func(s grpc.ServerStream) error {
				err := s.RecvMsg(new(number))
				wantStatus(t, err, codes.DeadlineExceeded, "")
				return err
			})
			m, _ := conn.server.Registry.Lookup("/s.S/Both")
			p := &pipe{requests: make(chan []byte)}
			out := conn.server.Stream(t.Context(), &IncomingStream{
				Method: m, Timeout: time.Minute, Codec: conn.codec, Transport: (*pipeServer)(p),
			})
			wantStatus(t, out.Status.Err(), codes.DeadlineExceeded, "")
		})
	})
}

// What a handler leaves behind cannot send any more.
func TestStreamIsOverWithItsHandler(t *testing.T) {
	left := make(chan grpc.ServerStream, 1)
	conn := pipeTo(t, func(s grpc.ServerStream) error {
		left <- s
		return nil
	})
	c, err := conn.NewStream(t.Context(), bidiDesc, "/s.S/Both")
	if err != nil {
		t.Fatal(err)
	}
	if c.RecvMsg(new(number)) == nil {
		t.Fatal("a message came")
	}
	conn.handlers.Wait()
	s := <-left
	wantStatus(t, s.SendMsg(&number{1}), codes.Canceled, "")
	wantStatus(t, s.RecvMsg(new(number)), codes.Canceled, "")
	if s.SendHeader(nil) == nil || s.SetHeader(metadata.Pairs("h", "1")) == nil || s.Context().Err() == nil {
		t.Error("the stream goes on")
	}
}

func TestOneReplyOnly(t *testing.T) {
	conn := pipeTo(t, func(s grpc.ServerStream) error {
		if err := s.SendMsg(&number{1}); err != nil {
			t.Error(err)
		}
		err := s.SendMsg(&number{2})
		wantStatus(t, err, codes.Internal, "sent a second")
		return nil // the error stays
	})
	s, err := conn.NewStream(t.Context(), clientStreamDesc, "/s.S/Up")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "sent a second")

	// A server that breaks the rule is found out by the client.
	s, err = pipeTo(t, func(s grpc.ServerStream) error {
		return errors.Join(s.SendMsg(&number{1}), s.SendMsg(&number{2}))
	}).NewStream(t.Context(), clientStreamDesc, "/s.S/Both")
	if err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "second reply")
}

func TestOneRequestOnly(t *testing.T) {
	conn := pipeTo(t, func(s grpc.ServerStream) error {
		wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "second request")
		return nil
	})
	// The client thinks that it may send any number.
	s, err := conn.NewStream(t.Context(), bidiDesc, "/s.S/Down")
	if err != nil {
		t.Fatal(err)
	}
	for s.SendMsg(&number{1}) == nil {
	}
	wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "second request")

	conn = pipeTo(t, func(s grpc.ServerStream) error {
		wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "no request")
		return nil
	})
	if s, err = conn.NewStream(t.Context(), serverStreamDesc, "/s.S/Down"); err != nil {
		t.Fatal(err)
	}
	if err := s.CloseSend(); err != nil {
		t.Fatal(err)
	}
	wantStatus(t, s.RecvMsg(new(number)), codes.Internal, "no request")
}
