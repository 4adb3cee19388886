package flogo_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/flow"
	"github.com/everywire/everywire/flow/flogo"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// A server that wire serves, as package flow has it.
type server struct{ *wire.Server }

func (s server) Addr() string { return s.Targets()[0].String() }

// A log of lines, without times.
type log struct {
	mu   sync.Mutex
	text bytes.Buffer
}

func (l *log) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(b)
}

func (l *log) lines() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return strings.Split(strings.TrimSuffix(l.text.String(), "\n"), "\n")
}

func (l *log) logger() *slog.Logger {
	return slog.New(slog.NewTextHandler(l, &slog.HandlerOptions{ReplaceAttr: func(_ []string, a slog.Attr) slog.Attr {
		if a.Key == slog.TimeKey {
			return slog.Attr{}
		}
		return a
	}}))
}

// serve runs a file that serves on a port of 127.0.0.1, and returns the target.
func serve(t *testing.T, file *flow.File, logged *log) string {
	t.Helper()
	served := make(chan string, 1)
	app, err := flow.New(file, flow.Options{
		Logger: logged.logger(), Dial: dial,
		Serve: func(ctx context.Context, methods *everywire.Registry, target string) (flow.Server, error) {
			wireOf, _, _ := strings.Cut(target, "://")
			s, err := wire.Serve(ctx, methods, []string{wireOf + "://127.0.0.1:0"})
			if err != nil {
				return nil, err
			}
			served <- s.Targets()[0].String()
			return server{s}, nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- app.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
	})
	select {
	case target := <-served:
		return target
	case err := <-ended:
		ended <- err
		t.Fatal(err)
		return ""
	}
}

func dial(target string, methods *everywire.Registry) (flow.Conn, error) {
	return wire.Dial(target, wire.WithMethods(methods))
}

// read reads an app whose text is changed, which must have no errors.
func read(t *testing.T, text []byte, changes ...string) *flow.File {
	t.Helper()
	changed := strings.NewReplacer(changes...).Replace(string(text))
	file, err := flogo.Read("a.json", []byte(changed), flogo.Options{Proto: protoFiles})
	if err != nil {
		t.Fatal(err)
	}
	return file
}

// yaml is an example in flow's own form.
func yaml(t *testing.T, name string) []byte {
	t.Helper()
	text, err := os.ReadFile("../../examples/flow/" + name + ".yaml")
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// The hello pair in Flogo's form does what the examples in our own do, in both
// variants and whichever of the two is in which form.
func TestHello(t *testing.T) {
	for _, variant := range []string{"rest", "grpc"} {
		suffix := map[string]string{"rest": "", "grpc": "-grpc"}[variant]
		for _, c := range []struct{ server, client string }{{"flogo", "flogo"}, {"flogo", "yaml"}, {"yaml", "flogo"}} {
			t.Run(variant+" "+c.server+" "+c.client, func(t *testing.T) {
				var serverLog, clientLog log
				var file *flow.File
				var err error
				if c.server == "flogo" {
					file = read(t, app(t, "hello-server-"+variant))
				} else if file, err = flow.Parse("server.yaml", yaml(t, "hello-server"+suffix)); err != nil {
					t.Fatal(err)
				}
				_, address, _ := strings.Cut(serve(t, file, &serverLog), "://")
				if c.client == "flogo" {
					file = read(t, app(t, "hello-client-"+variant), "localhost:8080", address, `"100ms"`, `"2ms"`, `"World"`, `"Ada"`)
				} else {
					text := strings.NewReplacer("localhost:8080 #", address+" #", "every: 100ms", "every: 2ms").Replace(string(yaml(t, "hello-client"+suffix)))
					if file, err = flow.Parse("client.yaml", []byte(text), flow.Assignment{Name: "name", Value: "Ada"}); err != nil {
						t.Fatal(err)
					}
				}
				client, err := flow.New(file, flow.Options{Logger: clientLog.logger(), Dial: dial, Runs: 3})
				if err != nil {
					t.Fatal(err)
				}
				if err := client.Run(t.Context()); err != nil {
					t.Error(err)
				}
				greeted := 0
				for _, line := range clientLog.lines() {
					if line == `level=INFO msg="Hello, Ada, welcome!" flow=ask step=log` {
						greeted++
					} else {
						t.Errorf("the client logs %s", line)
					}
				}
				// Ticks of Flogo do not wait: one more may have begun.
				if greeted < 3 || client.Failed() != 0 {
					t.Errorf("%d greetings, %d failed", greeted, client.Failed())
				}
				if c.server == "flogo" && !strings.Contains(strings.Join(serverLog.lines(), "\n"), `msg="asked by Ada" flow=greet step=log_asked`) {
					t.Errorf("the server logs %q", serverLog.lines())
				}
			})
		}
	}
}

// Conditions, REST activities with all their parts, mappers, subflows and errors do
// what Flogo's do.
func TestParts(t *testing.T) {
	stock := http.NewServeMux()
	stock.HandleFunc("POST /stock/{item}/take", func(w http.ResponseWriter, r *http.Request) {
		var body struct{ Count, Note any }
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			t.Error(err)
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprintf(w, `{"left": "%v of %s are left for %s: %v"}`, body.Count, r.PathValue("item"), r.Header.Get("X-Customer"), body.Note)
	})
	upstream := httptest.NewServer(stock)
	defer upstream.Close()
	var logged log
	target := serve(t, read(t, app(t, "parts"), "https://", "http://", "localhost:9000", upstream.Listener.Addr().String(), `"2s"`, `"1h"`), &logged)
	address := strings.TrimPrefix(target, "rest://")
	for _, c := range []struct {
		body, want string
		code       int
	}{
		{`{"item": "tea", "count": 3, "note": {"gift": true}}`, `{"by":"ada","left":"3 of tea are left for ada: map[gift:true]"}`, 200},
		{`{"item": "tea", "count": 11}`, `no more than 10`, 400},
	} {
		resp, err := http.Post("http://"+address+"/orders/ada", "application/json", strings.NewReader(c.body))
		if err != nil {
			t.Fatal(err)
		}
		got, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != c.code || !strings.Contains(string(got), c.want) {
			t.Errorf("%s: %d %s, %v", c.body, resp.StatusCode, got, err)
		}
	}
	http.DefaultClient.CloseIdleConnections()
	const tells = `level=INFO msg="TEA: 3 of tea are left for ada: map[gift:true]" flow=say_2 step=log`
	if lines := logged.lines(); !slices.Contains(lines, tells) || slices.ContainsFunc(lines, func(l string) bool { return l != tells && !strings.Contains(l, "msg=serving") }) {
		t.Errorf("logged %q", lines)
	}
}
