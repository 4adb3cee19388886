package jsonrpc

import (
	"bufio"
	"encoding/json"
	"io"
	"net/http"
	"os"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/everywire/everywire"
)

// An example is one of section 7 of the specification. Messages of errors are
// a server's own, so only codes are compared.
type example struct {
	Name, Send, Want string
	// OneLine marks a text that breaks off in the middle of several lines: where
	// lines tell messages apart it is several broken texts.
	OneLine bool `json:"one_line"`
}

func readExamples(t *testing.T) []example {
	t.Helper()
	file, err := os.Open("testdata/examples.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	var all []example
	for lines := bufio.NewScanner(file); lines.Scan(); {
		var e example
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			t.Fatal(err)
		}
		all = append(all, e)
	}
	if len(all) != 15 {
		t.Fatalf("the specification has 15 examples, the file %d", len(all))
	}
	return all
}

func withoutMessages(t *testing.T, text string) any {
	t.Helper()
	if text == "" {
		return nil
	}
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	replies, ok := v.([]any)
	if !ok {
		replies = []any{v}
	}
	for _, r := range replies {
		if e, ok := r.(map[string]any)["error"].(map[string]any); ok {
			if m, ok := e["message"].(string); ok && m == "" {
				t.Errorf("an error without a message: %s", text)
			}
			delete(e, "message")
		}
	}
	return v
}

func TestSpecificationExamples(t *testing.T) {
	f := newFixture()
	tcp := serve(t, NewServer, serverConfig(f.reg, everywire.Limits{}))
	web := "http://" + serve(t, NewHTTPServer, serverConfig(f.reg, everywire.Limits{})) + DefaultPath
	for _, e := range readExamples(t) {
		t.Run(e.Name, func(t *testing.T) {
			want := withoutMessages(t, e.Want)
			status, body := post(t, web, "application/json", e.Send)
			if (status == http.StatusNoContent) != (e.Want == "") || e.Want != "" && status != http.StatusOK {
				t.Errorf("HTTP status %d", status)
			}
			if diff := cmp.Diff(want, withoutMessages(t, body)); diff != "" {
				t.Errorf("over HTTP: %s", diff)
			}
			for _, framing := range []string{"line", "header", "netstring"} {
				if e.OneLine && framing == "line" {
					continue
				}
				// The request behind it shows that nothing more came than wanted.
				c := dialRaw(t, tcp)
				c.send(framed(framing, e.Send) + framed(framing, `{"jsonrpc":"2.0","method":"sum","params":[1],"id":"next"}`))
				const next = `{"jsonrpc":"2.0","result":1,"id":"next"}`
				var got string
				replies := []string{c.next(framing)}
				if e.Want != "" {
					replies = append(replies, c.next(framing))
				}
				for _, reply := range replies { // they may overtake each other
					if reply != next {
						got = reply
					}
				}
				if diff := cmp.Diff(want, withoutMessages(t, got)); diff != "" {
					t.Errorf("over TCP, framing %s: %s", framing, diff)
				}
			}
		})
	}
}

func post(t *testing.T, url, contentType, body string) (status int, reply string) {
	t.Helper()
	res, err := http.Post(url, contentType, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	defer res.Body.Close()
	b, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, string(b)
}
