package foreign

import (
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/internal/needs"
)

type (
	tickRequest struct {
		Name  string `wire:"1"`
		Count int64  `wire:"2"`
		Code  uint32 `wire:"3"`
	}
	tick struct {
		Number  int64  `wire:"1"`
		EventID string `wire:"2"`
		Name    string `wire:"3"`
	}
)

// withClock adds streams that a page can use.
func withClock(s *service) *service {
	everywire.HandleServerStream(s.reg, "test.Clock/Ticks", func(in *tickRequest, stream grpc.ServerStreamingServer[tick]) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		if last := md.Get("last-event-id"); len(last) > 0 { // it comes again: the rest
			return stream.Send(&tick{Number: 100, EventID: last[0] + " and on"})
		}
		for n := range in.Count {
			if err := stream.Send(&tick{Number: n, EventID: fmt.Sprint("t", n)}); err != nil {
				return err
			}
		}
		if in.Code != 0 {
			return status.Error(codes.Code(in.Code), "as asked")
		}
		return nil
	}, everywire.WithRoute("GET", "/ticks", ""))
	everywire.HandleBidi(s.reg, "test.Clock/Talk", func(stream grpc.BidiStreamingServer[tickRequest, tick]) error {
		md, _ := metadata.FromIncomingContext(stream.Context())
		for {
			in, err := stream.Recv()
			if errors.Is(err, io.EOF) {
				stream.SetTrailer(metadata.Pairs("x-t", "1"))
				return nil
			}
			if err != nil {
				return err
			}
			if in.Code != 0 {
				return status.Error(codes.Code(in.Code), "as asked")
			}
			if err := stream.Send(&tick{Name: in.Name + strings.Join(md.Get("x-name"), "")}); err != nil {
				return err
			}
		}
	})
	return s
}

// TestStreamsOfPages: a browser's own fetch, EventSource and WebSocket.
func TestStreamsOfPages(t *testing.T) {
	chromium := needs.Program(t, "chromium", "on Debian, apt-get install chromium")
	base := "http://" + withClock(newService()).serve(t, "rest://127.0.0.1:0")
	results := runNode(t, "stream-page.js", map[string]any{"chromium": chromium, "profile": t.TempDir(), "url": base})
	problem := func(status, title, code string) string {
		return `{\"@error\":{\"type\":\"about:blank\",\"title\":\"` + title + `\",\"status\":` + status + `,\"detail\":\"as asked\",\"code\":\"` + code + `\"}}\n`
	}
	line := func(n string) string { return `{\"number\":` + n + `,\"eventId\":\"t` + n + `\",\"name\":\"\"}\n` }
	talked := func(name string) string { return `{"number":0,"eventId":"","name":"` + name + `"}` }
	check(t, results, map[string]string{
		"lines":                `["` + line("0") + line("1") + `","whole"]`,
		"lines, failed":        `["` + line("0") + problem("404", "Not Found", "NOT_FOUND") + `","whole"]`,
		"events":               `[[0,"t0"],[1,"t1"]]`,
		"events, failed":       `[[0,"t0"],"NOT_FOUND"]`,
		"events, come again":   `[[0,"t0"],[1,"t1"],"UNAVAILABLE",[100,"t1 and on"]]`,
		"conversation":         `[` + talked("a") + `,` + talked("b") + `,1000,""]`,
		"conversation, failed": `[4007,"as asked"]`,
		"conversation, whole":  `[` + talked("ame") + `,{"end":{"trailers":{"x-t":["1"]}}},1000,""]`,
		"another origin":       `1006`,
	})
}
