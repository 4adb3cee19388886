package rest

import (
	"context"
	"strconv"
	"strings"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// wikiPage is a resource with a version of its own.
type wikiPage struct {
	ID      string `wire:"1"`
	Text    string `wire:"2"`
	Version int64  `wire:"3" http:"etag"`
}

type changePage struct {
	ID      string `wire:"1"`
	Text    string `wire:"2"`
	IfMatch string `wire:"3" http:"header=If-Match"`
}

type nothing struct{}

// pageRegistry has one page, whose version is 7.
func pageRegistry() *everywire.Registry {
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	read := everywire.WithIdempotency(everywire.NoSideEffects)
	everywire.Handle(reg, "test.Pages/Get", func(_ context.Context, in *changePage) (*wikiPage, error) {
		if in.ID == "none" {
			return nil, status.Error(codes.NotFound, "no such page")
		}
		return &wikiPage{ID: in.ID, Text: strings.Repeat("text ", len(in.ID)*1000-1000), Version: 7}, nil
	}, everywire.WithRoute("GET", "/pages/{id}", ""))
	everywire.Handle(reg, "test.Pages/List", echoItem, read, everywire.WithRoute("GET", "/plain/{key}", ""))
	everywire.Handle(reg, "test.Pages/Tagged", func(ctx context.Context, in *item) (*item, error) {
		return in, grpc.SetHeader(ctx, metadata.Pairs("etag", in.Key))
	}, everywire.WithRoute("GET", "/tagged/{key}", ""))
	everywire.Handle(reg, "test.Pages/Change", func(_ context.Context, in *changePage) (*wikiPage, error) {
		switch in.IfMatch {
		case "", "*", `"7"`:
			return &wikiPage{ID: in.ID, Text: in.Text, Version: 8}, nil
		case `"gone"`:
			return nil, status.Error(codes.Aborted, "somebody else was faster")
		}
		return nil, status.Error(codes.FailedPrecondition, "the page is version 7, not "+in.IfMatch)
	}, everywire.WithRoute("PUT", "/pages/{id}", "*"))
	everywire.Handle(reg, "test.Pages/Delete", func(context.Context, *item) (*nothing, error) { return &nothing{}, nil },
		everywire.WithRoute("DELETE", "/pages/{key}", ""))
	everywire.Handle(reg, "test.Pages/Create", func(_ context.Context, in *changePage) (*wikiPage, error) {
		return &wikiPage{ID: in.ID, Version: 1}, nil
	}, everywire.WithRoute("POST", "/pages", "*", everywire.Created("/pages/{id}")))
	return reg
}

func TestConditionalRequests(t *testing.T) {
	addr := serve(t, serverConfig(pageRegistry()))
	hash := do(t, addr, "GET /plain/a", "").header.Get("Etag")
	if !strings.HasPrefix(hash, `W/"`) || hash == do(t, addr, "GET /plain/b", "").header.Get("Etag") || hash != do(t, addr, "GET /plain/a", "").header.Get("Etag") {
		t.Errorf("the tag made of a reply is %s", hash)
	}
	if cbor := do(t, addr, "GET /plain/a", "", "Accept: application/cbor").header.Get("Etag"); cbor == hash {
		t.Error("two formats have one tag")
	}
	for _, c := range []struct {
		line   string
		head   []string
		status int
		etag   string
	}{
		{"GET /pages/a", nil, 200, `"7"`},
		{"HEAD /pages/a", nil, 200, `"7"`},
		{"GET /pages/none", []string{"If-None-Match: *"}, 404, ""},
		{"GET /pages/a", []string{`If-None-Match: "7"`}, 304, `"7"`},
		{"HEAD /pages/a", []string{`If-None-Match: "7"`}, 304, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: W/"7"`}, 304, `"7"`},
		{"GET /pages/a", []string{"If-None-Match: *"}, 304, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: "6", "7,8" ,, W/"7"`}, 304, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: "6"`, `If-None-Match: "7"`}, 304, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: "6,7"`}, 200, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: 7`}, 200, `"7"`},
		{"GET /pages/a", []string{`If-None-Match: "7`}, 200, `"7"`},
		{"GET /pages/a", []string{`If-None-Match:`}, 200, `"7"`},
		{"GET /plain/a", []string{"If-None-Match: " + hash}, 304, hash},
		{"GET /plain/a", []string{"If-None-Match: " + strings.TrimPrefix(hash, "W/")}, 304, hash},
		// A weak tag is equal to none for If-Match.
		{"GET /plain/a", []string{"If-Match: " + hash}, 412, ""},
		{"GET /plain/a", []string{"If-Match: *"}, 200, hash},
		{"GET /tagged/%22x%22", nil, 200, `"x"`},
		{"GET /tagged/%22x%22", []string{`If-Match: "y", "x"`}, 200, `"x"`},
		{"GET /tagged/%22x%22", []string{`If-Match: "y"`}, 412, ""},
		{"GET /tagged/%22x%22", []string{`If-Match: W/"x"`}, 412, ""},
		{"GET /tagged/W%2F%22x%22", []string{`If-None-Match: "x"`}, 304, `W/"x"`},
		// Formats have tags of their own, which are one to If-Match and handlers.
		{"GET /pages/a", []string{"Accept: application/cbor"}, 200, `"7;cbor"`},
		{"GET /pages/a", []string{"Accept: application/x-msgpack"}, 200, `"7;msgpack"`},
		{"GET /pages/a", []string{"Accept: application/cbor", `If-None-Match: "7;cbor"`}, 304, `"7;cbor"`},
		{"GET /pages/a", []string{"Accept: application/cbor", `If-None-Match: W/"7;cbor"`}, 304, `"7;cbor"`},
		{"GET /pages/a", []string{"Accept: application/cbor", `If-None-Match: "7;cbor;gzip"`}, 304, `"7;cbor"`},
		{"GET /pages/a", []string{"Accept: application/cbor", `If-None-Match: "7"`}, 200, `"7;cbor"`},
		{"GET /pages/a", []string{"Accept: application/cbor", `If-None-Match: "7;msgpack"`}, 200, `"7;cbor"`},
		{"GET /pages/a", []string{`If-None-Match: "7;cbor"`}, 200, `"7"`},
		{"GET /tagged/%22x%22", []string{`If-Match: "x;cbor;br"`}, 200, `"x"`},
		{"GET /tagged/%22x%22", []string{"Accept: application/cbor", `If-Match: "x"`}, 200, `"x;cbor"`},
		{"GET /tagged/%22x%22", []string{`If-Match: "x;json"`}, 412, ""},
		{"PUT /pages/a", []string{"Accept: application/cbor", `If-Match: "7;cbor"`}, 200, `"8;cbor"`},
		{"PUT /pages/a", []string{`If-Match: "6;cbor"`}, 412, ""},
		{"GET /plain/a", []string{"If-Modified-Since: Sat, 29 Oct 1994 19:43:31 GMT"}, 200, hash},
		{"GET /plain/a", []string{"Range: bytes=0-1"}, 200, hash},

		{"PUT /pages/a", nil, 200, `"8"`},
		{"PUT /pages/a", []string{`If-Match: "7"`}, 200, `"8"`},
		{"PUT /pages/a", []string{`If-Match: *`}, 200, `"8"`},
		{"PUT /pages/a", []string{`If-Match: "6"`}, 412, ""},
		{"PUT /pages/a", []string{`If-Match: "gone"`}, 412, ""},
		{"PUT /pages/a", []string{`If-None-Match: *`}, 412, ""}, // no field has it
		{"DELETE /pages/a", []string{`If-Match: "7"`}, 412, ""},
		{"DELETE /pages/a", []string{`If-Match: *`}, 412, ""},
		{"DELETE /pages/a", []string{`If-Unmodified-Since: Sat, 29 Oct 1994 19:43:31 GMT`}, 204, ""},
		{"POST /test.Pages/List", []string{"If-None-Match: *"}, 412, ""},
		{"POST /test.Pages/List", nil, 200, ""},
	} {
		r := do(t, addr, c.line, "", c.head...)
		if r.status != c.status || r.header.Get("Etag") != c.etag {
			t.Errorf("%s with %q: %d, %s %.200s; want %d, %s", c.line, c.head, r.status, r.header.Get("Etag"), r.body, c.status, c.etag)
		}
		switch r.status {
		case 304:
			if r.body != "" || r.header.Get("Content-Type") != "" || r.header.Get("Vary") == "" {
				t.Errorf("%s with %q: %v", c.line, c.head, r)
			}
		case 412:
			if p := checkProblem(t, r); p.Code != "FAILED_PRECONDITION" && p.Code != "ABORTED" {
				t.Errorf("%s with %q: %s", c.line, c.head, r.body)
			}
		}
	}
}

// The encoded form of what has a strong tag has another, by which its client
// can still ask for it and change it.
func TestTagsOfEncodedReplies(t *testing.T) {
	addr := serve(t, serverConfig(pageRegistry()))
	for _, coding := range []string{"gzip", "br", "zstd"} {
		accept := "Accept-Encoding: " + coding
		r := do(t, addr, "GET /pages/long", "", accept)
		tag := r.header.Get("Etag")
		if r.header.Get("Content-Encoding") != coding || tag != `"7;`+coding+`"` {
			t.Errorf("%s: %v", coding, r.header)
		}
		if r := do(t, addr, "GET /pages/long", "", accept, "If-None-Match: "+tag); r.status != 304 || r.header.Get("Etag") != tag {
			t.Errorf("%s: %d %v", coding, r.status, r.header)
		}
		if r := do(t, addr, "GET /pages/long", "", "If-None-Match: "+tag); r.status != 304 || r.header.Get("Etag") != `"7"` {
			t.Errorf("%s, without it: %d %v", coding, r.status, r.header)
		}
		if r := do(t, addr, "PUT /pages/long", `{}`, "If-Match: "+tag); r.status != 200 {
			t.Errorf("%s, changed: %d %s", coding, r.status, r.body)
		}
		if r := do(t, addr, "PUT /pages/long", `{}`, `If-Match: "6;`+coding+`"`); r.status != 412 || !strings.Contains(r.body, `not \"6\"`) {
			t.Errorf("%s, changed by an old tag: %d %s", coding, r.status, r.body)
		}
		if weak := do(t, addr, "GET /plain/"+strings.Repeat("k", 2000), "", accept); !strings.HasPrefix(weak.header.Get("Etag"), "W/") || strings.Contains(weak.header.Get("Etag"), coding) {
			t.Errorf("%s: %v", coding, weak.header)
		}
		head := do(t, addr, "HEAD /pages/long", "", accept)
		if head.header.Get("Content-Length") != strconv.Itoa(len(r.body)) || head.header.Get("Etag") != tag || head.body != "" {
			t.Errorf("%s: HEAD %v", coding, head.header)
		}
	}
	if r := do(t, addr, "PUT /pages/long", `{}`, `If-Match: "7;unknown"`); r.status != 412 {
		t.Errorf("another suffix: %d", r.status)
	}
}

func TestCreatedAndEmpty(t *testing.T) {
	cfg := serverConfig(pageRegistry())
	cfg.Path = "/api"
	addr := serve(t, cfg)
	r := do(t, addr, "POST /api/pages", `{"id":"a/b c"}`)
	if r.status != 201 || r.header.Get("Location") != "/api/pages/a%2Fb%20c" || r.header.Get("Etag") != `"1"` || !strings.Contains(r.body, `"a/b c"`) {
		t.Errorf("created: %d %v %s", r.status, r.header, r.body)
	}
	r = do(t, addr, "POST /api/pages", "\xa1\x62id\x61x", "Content-Type: application/cbor", "Accept: application/cbor")
	if r.status != 201 || r.header.Get("Location") != "/api/pages/x" || r.header.Get("Etag") != `"1;cbor"` {
		t.Errorf("created, in CBOR: %d %v", r.status, r.header)
	}
	for _, line := range []string{"DELETE /api/pages/a", "POST /api/test.Pages/Delete"} {
		r := do(t, addr, line, "")
		if r.status != 204 || r.body != "" || r.header.Get("Content-Type") != "" || r.header.Get("Content-Length") != "" {
			t.Errorf("%s: %d %v %q", line, r.status, r.header, r.body)
		}
	}
	client := clientConfig(addr)
	client.Path = "/api"
	client.Methods = pageRegistry()
	conn := dial(t, client)
	if _, err := everywire.Call[nothing](t.Context(), conn, "test.Pages/Delete", &item{Key: "a"}); err != nil {
		t.Errorf("an empty reply: %v", err)
	}
	ctx := metadata.AppendToOutgoingContext(t.Context(), "if-none-match", `"7"`)
	if _, err := everywire.Call[wikiPage](ctx, conn, "test.Pages/Get", &changePage{ID: "a"}); status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "304") {
		t.Errorf("not modified: %v", err)
	}
	_, err := everywire.Call[wikiPage](t.Context(), conn, "test.Pages/Change", &changePage{ID: "a", IfMatch: `"6"`})
	if status.Code(err) != codes.FailedPrecondition || !strings.Contains(err.Error(), "version 7") {
		t.Errorf("a precondition in a field: %v", err)
	}
}

func TestEntityTags(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "7": `"7"`, `"7"`: `"7"`, `W/"7"`: `W/"7"`, "a b": "", `a"b`: "", "é": "", `"`: "", `W/7`: `"W/7"`, `""`: `""`,
	} {
		if got := entityTagOf(text); got != want {
			t.Errorf("%q makes %q, want %q", text, got, want)
		}
	}
}

// No trailers are sent as such, whatever the client says.
func TestNoTrailers(t *testing.T) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "test.Items/Trail", func(ctx context.Context, in *item) (*item, error) {
		return in, grpc.SetTrailer(ctx, metadata.Pairs("x-cost", "1"))
	})
	addr := serve(t, serverConfig(reg))
	for _, te := range []string{"X: y", "TE: trailers"} {
		r := do(t, addr, "POST /test.Items/Trail", `{}`, te)
		if r.header.Get("Trailer") != "" || r.header.Get("Trailer-X-Cost") != "1" || r.header.Get("Transfer-Encoding") != "" {
			t.Errorf("%s: %v", te, r.header)
		}
	}
}

func FuzzEntityTags(f *testing.F) {
	for _, s := range []string{`"a", W/"b;gzip"`, `*`, `"a,b"`, `"`, `W/`, `,,"x"`} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, line string) {
		for tag := range entityTags(line) {
			if !isEntityTag(tag) || !strings.Contains(line, tag) {
				t.Fatalf("%q yields %q", line, tag)
			}
		}
		plain, changed := testFormats.withoutSuffixes([]string{line})
		if !changed {
			return
		}
		if again, more := testFormats.withoutSuffixes(plain); more && len(again[0]) >= len(plain[0]) {
			t.Fatalf("%q becomes %q and then %q", line, plain, again)
		}
	})
}
