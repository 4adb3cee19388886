package rest

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/sniff"
	"github.com/everywire/everywire/wire/internal/web"
)

// servePipe serves reg on one end of a pipe and returns the other; stop ends
// both.
func servePipe(t *testing.T, reg *everywire.Registry) (client net.Conn, stop func()) {
	t.Helper()
	srv, err := NewServer(serverConfig(reg))
	if err != nil {
		t.Fatal(err)
	}
	client, server := net.Pipe()
	lis := sniff.NewListener(server.LocalAddr())
	served := make(chan error, 1)
	go func() { served <- srv.Serve(lis) }()
	lis.Give(server)
	return client, func() {
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	}
}

// A handler may run for longer than a request may take to come in.
func TestSlowHandler(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		reg := everywire.NewRegistry()
		everywire.Handle(reg, "test.Slow/Do", func(ctx context.Context, in *sumRequest) (*sumReply, error) {
			select {
			case <-time.After(2 * web.BodyTimeout):
				return &sumReply{Sum: int64(len(in.Numbers))}, nil
			case <-ctx.Done():
				return nil, ctx.Err()
			}
		})
		client, stop := servePipe(t, reg)
		defer stop()
		r := bufio.NewReader(client)
		for range 2 { // the connection is as good as before
			if _, err := io.WriteString(client, "POST /test.Slow/Do HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 15\r\n\r\n{\"numbers\":[7]}"); err != nil {
				t.Fatal(err)
			}
			res, err := http.ReadResponse(r, nil)
			if err != nil {
				t.Fatal(err)
			}
			body, err := io.ReadAll(res.Body)
			if err != nil || res.StatusCode != http.StatusOK || string(body) != `{"sum":1}` {
				t.Errorf("%d %s, %v", res.StatusCode, body, err)
			}
		}
	})
}

// A client that sends a body's beginning and then nothing is let go.
func TestSlowBody(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, stop := servePipe(t, itemRegistry())
		defer stop()
		start := time.Now()
		head := "POST /test.Items/Plain HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{"
		if _, err := io.WriteString(client, head); err != nil {
			t.Fatal(err)
		}
		res, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		p := checkProblem(t, response{res.StatusCode, res.Header, string(body), res.Close})
		if res.StatusCode != http.StatusRequestTimeout || p.Code != "DEADLINE_EXCEEDED" || !res.Close {
			t.Errorf("%d %s", res.StatusCode, body)
		}
		if d := time.Since(start); d != web.BodyTimeout {
			t.Errorf("answered after %v", d)
		}
	})
}
