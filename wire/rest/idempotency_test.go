package rest

import (
	"context"
	"fmt"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// payments counts its calls, which are not to be repeated.
type payments struct {
	runs atomic.Int64
	// With gate a call waits for it, and says on started that it does.
	started, gate chan struct{}
}

func (p *payments) pay(ctx context.Context, in *item) (*item, error) {
	n := p.runs.Add(1)
	if err := grpc.SetHeader(ctx, metadata.Pairs("x-run", strconv.FormatInt(n, 10))); err != nil {
		return nil, err
	}
	if err := grpc.SetTrailer(ctx, metadata.Pairs("x-cost", "1")); err != nil {
		return nil, err
	}
	switch in.Key {
	case "wait":
		p.started <- struct{}{}
		<-p.gate
	case "goexit":
		runtime.Goexit()
	case "panic":
		panic("on purpose")
	case "code":
		return nil, status.Error(codes.Code(in.Size), "as asked")
	}
	return &item{Key: in.Key, Size: n}, nil
}

func (p *payments) registry() *everywire.Registry {
	p.started, p.gate = make(chan struct{}), make(chan struct{})
	reg := everywire.NewRegistry(everywire.WithLogger(discard))
	everywire.Handle(reg, "pay.Pay/Do", p.pay, everywire.WithRoute("PUT", "/pay/{key}", "*"), everywire.WithRoute("GET", "/pay/{key}", ""))
	everywire.Handle(reg, "pay.Pay/Again", p.pay, everywire.WithIdempotency(everywire.Idempotent))
	everywire.Handle(reg, "pay.Pay/Read", p.pay, everywire.WithIdempotency(everywire.NoSideEffects))
	return reg
}

func TestIdempotencyKey(t *testing.T) {
	p := &payments{}
	addr := serve(t, serverConfig(p.registry()))
	const post = "POST /pay.Pay/Do"
	// send returns the number of the run that answered.
	send := func(line, body string, head ...string) (r response, replayed bool) {
		t.Helper()
		r = do(t, addr, line, body, head...)
		return r, r.header.Get("Idempotency-Replayed") == "true"
	}
	first, replayed := send(post, `{"key":"a"}`, `Idempotency-Key: "k1"`)
	if first.status != 200 || replayed || first.header.Get("X-Run") != "1" {
		t.Fatalf("first: %v", first)
	}
	for _, key := range []string{`"k1"`, "k1", ` "k1" `} {
		r, replayed := send(post, `{"key":"a"}`, "Idempotency-Key: "+key)
		if !replayed || r.status != first.status || r.body != first.body || r.header.Get("X-Run") != "1" || r.header.Get("Trailer-X-Cost") != "1" || r.header.Get("Content-Type") != jsonType {
			t.Errorf("key %s: %v", key, r)
		}
	}
	for _, c := range []struct {
		name, line, body string
		head             []string
		status           int
	}{
		{"another body", post, `{"key":"b"}`, nil, 422},
		{"another route", "PUT /pay/a", "", nil, 422},
		{"another format", post, `{"key":"a"}`, []string{"Accept: application/cbor"}, 422},
	} {
		if r, _ := send(c.line, c.body, append(c.head, "Idempotency-Key: k1")...); r.status != c.status || checkProblem(t, r).Code != "INVALID_ARGUMENT" {
			t.Errorf("%s: %d %s", c.name, r.status, r.body)
		}
	}
	// The same client by what it is, not by what it sends.
	for _, who := range []string{"Authorization: Bearer b", "Authorization: Bearer c", "Cookie: session=1", "X-Api-Key: x"} {
		for i := range 2 {
			if r, replayed := send(post, `{"key":"a"}`, "Idempotency-Key: k1", who); r.status != 200 || replayed != (i == 1) || r.header.Get("X-Run") == "1" {
				t.Errorf("%s, request %d: %v", who, i, r)
			}
		}
	}
	// Coded again for each who asks.
	long := `{"key":"` + strings.Repeat("k", 2000) + `"}`
	send(post, long, "Idempotency-Key: k2")
	if r, replayed := send(post, long, "Idempotency-Key: k2", "Accept-Encoding: gzip"); !replayed || r.header.Get("Content-Encoding") != "gzip" {
		t.Errorf("coded: %v", r.header)
	}
	// Methods and verbs that may be repeated know no keys.
	for _, c := range [][2]string{{"POST /pay.Pay/Again", `{}`}, {"POST /pay.Pay/Read", `{}`}, {"GET /pay/a", ""}} {
		for range 2 {
			if r, replayed := send(c[0], c[1], "Idempotency-Key: \x01;"); r.status != 200 && r.status != 400 || replayed {
				t.Errorf("%s: %v", c[0], r)
			}
			if r, replayed := send(c[0], c[1], "Idempotency-Key: again"); r.status != 200 || replayed {
				t.Errorf("%s: %v", c[0], r)
			}
		}
	}
	// Without a key every request runs.
	a, _ := send(post, `{}`)
	b, _ := send(post, `{}`)
	if a.header.Get("X-Run") == b.header.Get("X-Run") {
		t.Error("without a key one answer for two requests")
	}
}

// Errors that say how the call ended are remembered, others are not.
func TestIdempotencyOfErrors(t *testing.T) {
	p := &payments{}
	addr := serve(t, serverConfig(p.registry()))
	again := map[codes.Code]bool{
		codes.Canceled: true, codes.InvalidArgument: true, codes.DeadlineExceeded: true, codes.PermissionDenied: true, codes.Unauthenticated: true,
		codes.ResourceExhausted: true, codes.Aborted: true, codes.Unimplemented: true, codes.Unavailable: true,
	}
	for c := codes.Canceled; c <= codes.Unauthenticated; c++ {
		body := fmt.Sprintf(`{"key":"code","size":%d}`, c)
		var got [2]response
		for i := range got {
			got[i] = do(t, addr, "POST /pay.Pay/Do", body, fmt.Sprintf("Idempotency-Key: code-%d", c))
			checkProblem(t, got[i])
		}
		if ran := got[1].header.Get("Idempotency-Replayed") == ""; ran != again[c] || got[0].status != got[1].status || got[0].body != got[1].body {
			t.Errorf("%v: %v", c, got[1])
		}
	}
	for _, key := range []string{"panic", "goexit"} {
		for i := range 2 {
			r := do(t, addr, "POST /pay.Pay/Do", `{"key":"`+key+`"}`, "Idempotency-Key: "+key)
			// Nobody can say what a handler has done that went away.
			if replayed := r.header.Get("Idempotency-Replayed") != ""; r.status != 500 || replayed != (key == "panic" && i == 1) {
				t.Errorf("%s: %v", key, r)
			}
		}
	}
	// What never became a call is not remembered.
	for range 2 {
		if r := do(t, addr, "POST /pay.Pay/Do", `{"size":"x"}`, "Idempotency-Key: bad"); r.status != 400 || r.header.Get("Idempotency-Replayed") != "" {
			t.Errorf("%v", r)
		}
	}
	if r := do(t, addr, "POST /pay.Pay/Do", `{"key":"good"}`, "Idempotency-Key: bad"); r.status != 200 {
		t.Errorf("the key of a request that was wrong: %v", r)
	}
}

func TestIdempotencyWhileRunning(t *testing.T) {
	p := &payments{}
	addr := serve(t, serverConfig(p.registry()))
	first := make(chan response)
	go func() { first <- do(t, addr, "POST /pay.Pay/Do", `{"key":"wait"}`, "Idempotency-Key: k") }()
	<-p.started
	if r := do(t, addr, "POST /pay.Pay/Do", `{"key":"wait"}`, "Idempotency-Key: k"); r.status != 409 || checkProblem(t, r).Code != "ABORTED" {
		t.Errorf("the second while the first runs: %v", r)
	}
	close(p.gate)
	if r := <-first; r.status != 200 {
		t.Errorf("the first: %v", r)
	}
	if r := do(t, addr, "POST /pay.Pay/Do", `{"key":"wait"}`, "Idempotency-Key: k"); r.status != 200 || r.header.Get("Idempotency-Replayed") != "true" {
		t.Errorf("after it: %v", r)
	}
	if n := p.runs.Load(); n != 1 {
		t.Errorf("%d runs", n)
	}
}

// A client of ours sets the key as metadata.
func TestIdempotencyOfClient(t *testing.T) {
	p := &payments{}
	conn := dial(t, clientConfig(serve(t, serverConfig(p.registry()))))
	ctx := metadata.AppendToOutgoingContext(t.Context(), "idempotency-key", "k")
	for i := range 2 {
		var header metadata.MD
		out, err := everywire.Call[item](ctx, conn, "pay.Pay/Do", &item{Key: "a"}, grpc.Header(&header))
		if err != nil || out.Size != 1 || len(header["idempotency-replayed"]) != i {
			t.Errorf("call %d: %v, %v, %v", i, out, header, err)
		}
	}
}

func TestParseKey(t *testing.T) {
	for _, c := range []struct {
		lines []string
		want  string // "" for an error
	}{
		{[]string{`"8e03978e-40d5-43dd-bc93-6894a57f9324"`}, "8e03978e-40d5-43dd-bc93-6894a57f9324"},
		{[]string{"8e03978e"}, "8e03978e"},
		{[]string{`"a b,;\"\\"`}, `a b,;"\`},
		{[]string{"\t a "}, "a"},
		{[]string{""}, ""},
		{[]string{`""`}, ""},
		{[]string{`"`}, ""},
		{[]string{`"a`}, ""},
		{[]string{`a"`}, ""},
		{[]string{`"a"b"`}, ""},
		{[]string{`"\a"`}, ""},
		{[]string{`"a\"`}, ""},
		{[]string{`"a";x=1`}, ""},
		{[]string{"a b"}, ""},
		{[]string{"a,b"}, ""},
		{[]string{"é"}, ""},
		{[]string{"\"\x01\""}, ""},
		{[]string{"a", "a"}, ""},
		{[]string{strings.Repeat("k", 255)}, strings.Repeat("k", 255)},
		{[]string{strings.Repeat("k", 256)}, ""},
	} {
		if got, err := parseKey(c.lines); got != c.want || (err == nil) != (c.want != "") {
			t.Errorf("%q: %q, %v", c.lines, got, err)
		}
	}
}

func name(i int) digest { return digest{byte(i), byte(i >> 8), byte(i >> 16)} }

// The ledger forgets what is old, what has come first if there are too many,
// and never what runs.
func TestLedgerIsBounded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l ledger
		open, _ := l.claim(name(0), digest{})
		for i := 1; i <= maxAnswers+10; i++ {
			e, c := l.claim(name(i), digest{})
			if c != fresh {
				t.Fatalf("%d: claim %d", i, c)
			}
			e.keep(result{}, 1)
			e.drop() // without effect
		}
		if l.done.Len() != maxAnswers || len(l.byName) != maxAnswers+1 || l.bytes != maxAnswers {
			t.Errorf("%d answers, %d names, %d bytes", l.done.Len(), len(l.byName), l.bytes)
		}
		for i, want := range map[int]claim{0: running, 11: known, maxAnswers + 10: known, 10: fresh} {
			if _, c := l.claim(name(i), digest{}); c != want {
				t.Errorf("%d: claim %d, want %d", i, c, want)
			}
		}
		open.keep(result{}, maxAnswerBytes)
		if l.done.Len() != 1 || l.bytes != maxAnswerBytes {
			t.Errorf("with a long answer: %d answers, %d bytes", l.done.Len(), l.bytes)
		}
		time.Sleep(answerTTL - time.Nanosecond)
		if _, c := l.claim(name(0), digest{}); c != known {
			t.Errorf("before its time: %d", c)
		}
		time.Sleep(time.Nanosecond)
		if _, c := l.claim(name(0), digest{}); c != fresh || l.bytes != 0 {
			t.Errorf("after its time: %d, %d bytes", c, l.bytes)
		}
	})
}

func TestLedgerOfManyRunning(t *testing.T) {
	var l ledger
	var last *entry
	for i := range maxAnswers {
		e, c := l.claim(name(i), digest{})
		if c != fresh {
			t.Fatalf("%d: claim %d", i, c)
		}
		last = e
	}
	if _, c := l.claim(name(maxAnswers), digest{}); c != full {
		t.Errorf("one more: claim %d", c)
	}
	last.drop()
	if _, c := l.claim(name(maxAnswers), digest{}); c != fresh {
		t.Errorf("after one has gone: claim %d", c)
	}
}
