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
	// HTTPOnly marks a text that breaks off in the middle of several lines:
	// with a message a line it is several broken texts.
	HTTPOnly bool `json:"http_only"`
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
			if e.HTTPOnly {
				return
			}
			// The request behind it shows that nothing more came than wanted.
			c := dialRaw(t, tcp)
			c.send(e.Send + "\n" + `{"jsonrpc":"2.0","method":"sum","params":[1],"id":"next"}` + "\n")
			const next = `{"jsonrpc":"2.0","result":1,"id":"next"}`
			var got string
			lines := []string{c.line()}
			if e.Want != "" {
				lines = append(lines, c.line())
			}
			for _, line := range lines { // replies may overtake each other
				if line != next {
					got = line
				}
			}
			if diff := cmp.Diff(want, withoutMessages(t, got)); diff != "" {
				t.Errorf("over TCP: %s", diff)
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
