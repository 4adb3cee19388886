package rest

import (
	"bufio"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"reflect"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// An event is what a browser dispatches.
type event struct {
	name, data, id string
}

// An eventParser reads a stream of events by the rules of the HTML standard,
// section 9.2.6, as a browser does.
type eventParser struct {
	r      *bufio.Reader
	lastID string // of the stream
	pastCR bool   // a line feed that comes now ends no line
}

// line reads a line, which CR, LF or both end. What no line end follows is none.
func (p *eventParser) line() (string, error) {
	var b strings.Builder
	for {
		c, err := p.r.ReadByte()
		if err != nil {
			return "", err
		}
		skip := p.pastCR && c == '\n'
		p.pastCR = c == '\r'
		switch {
		case skip:
		case c == '\r' || c == '\n':
			return b.String(), nil
		default:
			b.WriteByte(c)
		}
	}
}

// next returns the next event, or the error that ends the stream; an event that
// is not complete is lost then.
func (p *eventParser) next() (event, error) {
	e := event{name: "message"}
	var data []string
	for {
		line, err := p.line()
		if err != nil {
			return event{}, err
		}
		if line == "" {
			e.id = p.lastID
			if data == nil {
				e, data = event{name: "message"}, nil
				continue
			}
			e.data = strings.Join(data, "\n")
			return e, nil
		}
		field, value, _ := strings.Cut(line, ":")
		value = strings.TrimPrefix(value, " ")
		switch field {
		case "event":
			e.name = value
		case "data":
			data = append(data, value)
		case "id":
			if !strings.Contains(value, "\x00") {
				p.lastID = value
			}
		}
	}
}

// events reads a stream to its end.
func events(t testing.TB, body io.Reader) (all []event) {
	t.Helper()
	p := eventParser{r: bufio.NewReader(body)}
	for {
		e, err := p.next()
		if err == io.EOF { //nolint:errorlint // as a Reader returns it
			return all
		}
		if err != nil {
			t.Fatalf("after %d events: %v", len(all), err)
		}
		all = append(all, e)
	}
}

const acceptEvents = "Accept: text/event-stream"

func TestEvents(t *testing.T) {
	addr := serve(t, serverConfig(newFeed().Registry))
	data := func(n, id string) string { return `{"name":"a","number":` + n + `,"eventId":"` + id + `","pad":""}` }
	problem := func(status, title, code string) string {
		return `{"type":"about:blank","title":"` + title + `","status":` + status + `,"detail":"as asked\nfor","code":"` + code + `"}`
	}
	for name, tc := range map[string]struct {
		path string
		head []string
		want []event
	}{
		"two":   {"/feeds/a?count=2", nil, []event{{"message", data("0", "e0"), "e0"}, {"message", data("1", "e1"), "e1"}, {"end", "{}", goodbyeID}}},
		"none":  {"/feeds/a", nil, []event{{"end", "{}", goodbyeID}}},
		"again": {"/feeds/a?count=1", []string{"Last-Event-ID: e7"}, []event{{"message", data("0", "e7e0"), "e7e0"}, {"end", "{}", goodbyeID}}},
		"odd ids": {"/feeds/a?count=4&do=odd%20ids", nil, []event{
			{"message", data("0", ""), ""}, {"message", data("1", `a\nb`), ""}, {"message", data("2", goodbyeID), ""}, {"message", data("3", "ä"), "ä"}, {"end", "{}", goodbyeID},
		}},
		"one field, its id from the whole": {"/feeds/a%0Db/names?count=1", nil, []event{{"message", `"a\rb"`, "e0"}, {"end", "{}", goodbyeID}}},
		"trailers":                         {"/feeds/a?do=metadata", nil, []event{{"end", `{"trailers":{"x-t":["2"]}}`, goodbyeID}}},
		"an error":                         {"/feeds/a?count=1&code=5", nil, []event{{"message", data("0", "e0"), "e0"}, {"error", problem("404", "Not Found", "NOT_FOUND"), "e0"}, {"end", "{}", goodbyeID}}},
		"come again":                       {"/feeds/a?count=1&code=14", nil, []event{{"message", data("0", "e0"), "e0"}, {"error", problem("503", "Service Unavailable", "UNAVAILABLE"), "e0"}, {"end", "{}", "e0"}}},
	} {
		t.Run(name, func(t *testing.T) {
			res := dialPeer(t, addr).request("GET "+tc.path, "", append(tc.head, acceptEvents)...)
			if res.StatusCode != http.StatusOK || res.Header.Get("Content-Type") != "text/event-stream" || res.Header.Get("Cache-Control") != "no-store" {
				t.Errorf("%s, %v", res.Status, res.Header)
			}
			if got := events(t, res.Body); !reflect.DeepEqual(got, tc.want) {
				t.Errorf("got  %q\nwant %q", got, tc.want)
			}
		})
	}
}

// An EventSource that the stream has ended for comes again, and is sent away for
// good.
func TestEventSourceStops(t *testing.T) {
	f := newFeed()
	addr := serve(t, serverConfig(f.Registry))
	r := do(t, addr, "GET /feeds/a?count=1", "", acceptEvents, "Last-Event-ID: "+goodbyeID)
	if r.status != http.StatusNoContent || r.body != "" {
		t.Errorf("%d %q", r.status, r.body)
	}
	if len(f.began) > 0 {
		t.Error("the handler ran")
	}
	// To other formats the id means nothing.
	if r := do(t, addr, "GET /feeds/a?count=1", "", "Last-Event-ID: "+goodbyeID); r.status != 200 || r.body == "" {
		t.Errorf("lines: %d %q", r.status, r.body)
	}
}

// A silent stream shows that it lives, though its handler has said nothing yet;
// what comes too late for the head of the response is told at the end.
func TestEventsInSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFeed()
		f.gate = make(chan struct{}) // of the bubble
		srv, err := NewServer(serverConfig(f.Registry))
		if err != nil {
			t.Fatal(err)
		}
		client, server := net.Pipe()
		lis := &oneConn{conn: make(chan net.Conn, 1), closed: make(chan struct{})}
		lis.conn <- server
		served := make(chan error, 1)
		go func() { served <- srv.Serve(lis) }()
		go func() {
			_, _ = io.WriteString(client, "GET /feeds/a?do=silence&count=1 HTTP/1.1\r\nHost: test\r\n"+acceptEvents+"\r\n\r\n")
		}()
		begin := time.Now()
		res, err := http.ReadResponse(bufio.NewReader(client), nil)
		if err != nil || res.StatusCode != http.StatusOK {
			t.Fatal(res, err)
		}
		body := bufio.NewReader(res.Body)
		for n := range 3 {
			if line, err := body.ReadString('\n'); err != nil || line != ":\n" {
				t.Errorf("got %q, %v", line, err)
			}
			if silence := time.Since(begin); silence != time.Duration(n+1)*keepAlive {
				t.Errorf("comment %d comes after %v", n, silence)
			}
			if _, err := body.ReadString('\n'); err != nil {
				t.Error(err)
			}
		}
		f.gate <- struct{}{}
		got := events(t, body)
		if len(got) != 2 || got[0].name != "message" {
			t.Fatalf("got %q", got)
		}
		var end endEvent
		if err := json.Unmarshal([]byte(got[1].data), &end); err != nil || !reflect.DeepEqual(end.Headers, map[string][]string{"x-late": {"1"}}) {
			t.Errorf("the end is %q, %v", got[1].data, err)
		}
		if err := client.Close(); err != nil {
			t.Error(err)
		}
		if err := srv.Shutdown(t.Context()); err != nil {
			t.Error(err)
		}
		if err := <-served; err != nil {
			t.Error(err)
		}
	})
}

// oneConn is a listener with one connection.
type oneConn struct {
	conn   chan net.Conn
	closed chan struct{}
}

func (l *oneConn) Accept() (net.Conn, error) {
	select {
	case c := <-l.conn:
		return c, nil
	case <-l.closed:
		return nil, net.ErrClosed
	}
}

func (l *oneConn) Close() error {
	select {
	case <-l.closed:
	default:
		close(l.closed)
	}
	return nil
}

func (l *oneConn) Addr() net.Addr { return &net.TCPAddr{} }
