package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/mail"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// An employee is changed over one wire, and those who watch over others are told.
func TestServeEmployees(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "sent")
	targets := serve(t, "employees", "--outbox", dir, "--mail-from", "hr@example.org",
		"--on", "rest://127.0.0.1:0", "--on", "jsonrpc+http://127.0.0.1:0", "--on", "jsonrpc+tcp://127.0.0.1:0",
		"--on", "msgpackrpc+tcp://127.0.0.1:0", "--on", "grpc://127.0.0.1:0")
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	call := func(target, method, request, want string) {
		t.Helper()
		out, errs, status := command(t, "", "call", target, "employees.Employees/"+method, request)
		if got := strings.TrimSuffix(strings.TrimPrefix(out+errs, "everywire: "), "\n"); !strings.HasPrefix(got, want) || (status == exitOK) != (errs == "") {
			t.Errorf("%s %s over %s: status %d, %q, want %q", method, request, target, status, got, want)
		}
	}
	watching := make(chan string, 100)
	watchers := 0
	for _, target := range targets {
		if target.Wire == "msgpackrpc" || target.Wire == "jsonrpc" && target.Transport == "http" {
			continue // they carry no streams
		}
		watchers++
		pr, pw := io.Pipe()
		go func() {
			execute(ctx, []string{"call", target.String(), "employees.Employees/WatchEmployees", `{"after":0}`, "--timeout", "1h"}, strings.NewReader(""), pw, io.Discard)
			pw.Close()
		}()
		go func() {
			for lines := bufio.NewScanner(pr); lines.Scan(); {
				watching <- lines.Text()
			}
		}()
	}
	told := func(kind string) {
		t.Helper()
		for range watchers {
			var e struct{ Kind string }
			select {
			case line := <-watching:
				if err := json.Unmarshal([]byte(line), &e); err != nil || e.Kind != kind {
					t.Errorf("a watcher got %s, want %s", line, kind)
				}
			case <-ctx.Done():
				t.Fatalf("watchers were not told: %s", kind)
			}
		}
	}
	for i, target := range targets {
		at, id := target.String(), string(rune('0'+9+i))
		if i > 0 {
			id = "1" + string(rune('0'+i-1))
		}
		call(at, "ListEmployees", `{"language":"de","perpage":1,"offset":1}`, `{"employees":[{"id":8,"name":"Jonas Weber"`)
		call(at, "CreateEmployee", `{"name":"Ada","email":"ada@example.org"}`, `{"id":`+id+`,"name":"Ada","email":"ada@example.org","language":"en",`)
		told("created")
		call(at, "CreateEmployee", `{}`, "INVALID_ARGUMENT: name: is empty; email: is empty [field_violations:{")
		call(at, "RenameEmployee", `{"id":`+id+`,"name":"Ada L.","ifMatch":"1"}`, `{"id":`+id+`,"name":"Ada L.",`)
		told("renamed")
		call(at, "RenameEmployee", `{"id":`+id+`,"name":"Ada M.","ifMatch":"\"1\""}`, "ABORTED: employee "+id+" has changed: its version is 2")
		call(at, "SendEmail", `{"user_id":`+id+`,"subject":"Hi","text":"Welcome."}`, `{"messageId":"`)
		call(at, "FireEmployee", `{"id":`+id+`,"ifMatch":"2"}`, "{}")
		told("fired")
		call(at, "GetEmployee", `{"id":`+id+`}`, "NOT_FOUND: there is no employee "+id)
	}
	var files []string
	for end := time.Now().Add(20 * time.Second); len(files) < len(targets) && time.Now().Before(end); time.Sleep(10 * time.Millisecond) {
		files, _ = filepath.Glob(filepath.Join(dir, "*.eml"))
	}
	if len(files) != len(targets) {
		t.Fatalf("the outbox has %v", files)
	}
	for _, name := range files {
		f, err := os.Open(name)
		if err != nil {
			t.Fatal(err)
		}
		m, err := mail.ReadMessage(f)
		f.Close()
		if err != nil || m.Header.Get("To") != `"Ada L." <ada@example.org>` || m.Header.Get("From") != "<hr@example.org>" || m.Header.Get("Subject") != "Hi" {
			t.Errorf("%s: %v, %v", name, m, err)
		}
	}
}

// What the service's messages are in HTTP.
func TestEmployeesInREST(t *testing.T) {
	at := "http://" + serve(t, "employees", "--on", "rest://127.0.0.1:0")[0].Addrs[0]
	for _, tt := range []struct {
		verb, path, header, body string
		status                   int
		want                     string // "HEADER: VALUE" or what the body holds
	}{
		{"GET", "/employees?language=pl", "", "", 200, `"total":1`},
		{"GET", "/employees?perpage=x&offset=y", "", "", 400, `"field":"offset"`},
		{"POST", "/employees", "", `{"name":"Ada","email":"ada@example.org"}`, 201, "Location: /employees/9"},
		{"POST", "/employees", "", `{"name":"Eda","email":"ADA@example.org"}`, 409, `"code":"ALREADY_EXISTS"`},
		{"GET", "/employees/9", "", "", 200, `Etag: "1"`},
		{"GET", "/employees/9", `If-None-Match: "1"`, "", 304, `Etag: "1"`},
		{"PATCH", "/employees/9", `If-Match: "1"`, `{"name":"Ada L."}`, 200, `Etag: "2"`},
		{"PATCH", "/employees/9", `If-Match: "1"`, `{"name":"Ada M."}`, 412, `"code":"ABORTED"`},
		{"POST", "/employees/9/email", "", `{"text":"Hi"}`, 400, "this server has no outbox"},
		{"DELETE", "/employees/9", `If-Match: "1"`, "", 412, `"code":"ABORTED"`},
		{"DELETE", "/employees/9", "", "", 204, ""},
		{"DELETE", "/employees/9", "", "", 204, ""},
		{"GET", "/employees/9", "", "", 404, `"code":"NOT_FOUND"`},
		{"DELETE", "/employees/99", "", "", 404, `"code":"NOT_FOUND"`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), tt.verb, at+tt.path, strings.NewReader(tt.body))
		if err != nil {
			t.Fatal(err)
		}
		if tt.body != "" {
			req.Header.Set("Content-Type", "application/json")
		}
		if name, value, ok := strings.Cut(tt.header, ": "); ok {
			req.Header.Set(name, value)
		}
		resp, err := http.DefaultTransport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		found := strings.Contains(string(body), tt.want)
		if name, value, ok := strings.Cut(tt.want, ": "); ok {
			found = resp.Header.Get(name) == value
		}
		if err != nil || resp.StatusCode != tt.status || !found {
			t.Errorf("%s %s %s %s: %d, %v, %s, %v; want %d, %s", tt.verb, tt.path, tt.header, tt.body, resp.StatusCode, resp.Header, body, err, tt.status, tt.want)
		}
	}
}

func TestOutboxFlags(t *testing.T) {
	for _, tt := range []struct {
		args string
		want string
	}{
		{"kv --smtp localhost:25", "are for the service employees"},
		{"employees --smtp localhost:25 --outbox sent", "one way or the other"},
		{"employees --smtp localhost", "want HOST:PORT"},
		{"employees --mail-from hr@example.org", "no e-mail is sent"},
		{"employees --outbox " + t.TempDir() + " --mail-from hr", `"hr" is not an e-mail address`},
	} {
		_, errs, status := command(t, "", append([]string{"serve", "--on", "rest://127.0.0.1:0"}, strings.Fields(tt.args)...)...)
		if status != exitUsage || !strings.Contains(errs, tt.want) {
			t.Errorf("serve %s: status %d, %q, want %q", tt.args, status, errs, tt.want)
		}
	}
}

// smtpServer takes one mail and gives what it was sent.
func smtpServer(t *testing.T) (addr string, mails <-chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	taken := make(chan string, 1)
	t.Cleanup(func() { l.Close() })
	go func() {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		defer conn.Close()
		fmt.Fprint(conn, "220 test\r\n")
		var all strings.Builder
		data := false
		for lines := bufio.NewScanner(conn); lines.Scan(); {
			line := lines.Text()
			all.WriteString(line + "\n")
			switch {
			case data && line != ".":
				continue
			case line == "DATA":
				fmt.Fprint(conn, "354 go ahead\r\n")
				data = true
				continue
			}
			data = false
			fmt.Fprint(conn, "250 ok\r\n")
		}
		taken <- all.String()
	}()
	return l.Addr().String(), taken
}

func TestServeEmployeesSMTP(t *testing.T) {
	addr, mails := smtpServer(t)
	at := serve(t, "employees", "--smtp", addr, "--on", "rest://127.0.0.1:0")[0].String()
	if out, errs, status := command(t, "", "call", at, "employees.Employees/SendEmail", `{"user_id":4,"text":"Bonjour","subject":"Réunion"}`); status != exitOK {
		t.Fatal(out, errs)
	}
	select {
	case mail := <-mails:
		for _, want := range []string{"MAIL FROM:<everywire@localhost>\n", "RCPT TO:<lea.fontaine@example.org>\n", "Subject: =?utf-8?q?R=C3=A9union?=\n", "\nBonjour\n.\nQUIT\n"} {
			if !strings.Contains(mail, want) {
				t.Errorf("the server got %q, which lacks %q", mail, want)
			}
		}
	case <-time.After(30 * time.Second):
		t.Fatal("no mail came")
	}
}
