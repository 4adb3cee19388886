package auth_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/everywire/everywire/service/auth"
)

// raw sends bytes over a connection of its own, and returns the reply.
func raw(t testing.TB, addr, send string) (status int, header http.Header, body string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", addr, 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := c.SetDeadline(time.Now().Add(20 * time.Second)); err != nil {
		t.Fatal(err)
	}
	if _, err := io.WriteString(c, send); err != nil {
		t.Fatal(err)
	}
	res, err := http.ReadResponse(bufio.NewReader(c), nil)
	if err != nil {
		t.Fatalf("%q: %v", send, err)
	}
	defer res.Body.Close()
	all, err := io.ReadAll(res.Body)
	if err != nil {
		t.Fatal(err)
	}
	return res.StatusCode, res.Header, string(all)
}

// Requests as the two services' clients and load tests sent them.
func rpcRequest(path, body string) string {
	return fmt.Sprintf("POST %s HTTP/1.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\nContent-Length: %d\r\nHost: auth:3000\r\nUser-Agent: Apache-HttpClient/4.5.2 (Java/1.8.0_131)\r\n\r\n%s", path, len(body), body)
}

func restPost(path, body string) string {
	return strings.Replace(rpcRequest(path, body), ":3000", ":3030", 1)
}

// restGet has a content type although it has no content, as the load test's.
func restGet(path, token string) string {
	line := ""
	if token != "" {
		line = "Authorization: Bearer " + token + "\r\n"
	}
	return fmt.Sprintf("GET %s HTTP/1.1\r\nConnection: keep-alive\r\nContent-Type: application/json\r\n%sHost: auth:3030\r\nUser-Agent: Apache-HttpClient/4.5.2 (Java/1.8.0_131)\r\n\r\n", path, line)
}

const (
	restTarget = "rest://127.0.0.1:0"
	rpcTarget  = "jsonrpc+http://127.0.0.1:0?version=1.0"
	anyTarget  = "any://127.0.0.1:0?version=1.0"
)

// tokenIn is how the load tests found the token in a reply.
var tokenIn = regexp.MustCompile(`[a-zA-Z0-9\-_]*\.[a-zA-Z0-9\-_]*\.[a-zA-Z0-9\-_]*`)

const problem = `{"type":"about:blank","title":"Unauthorized","status":401,"detail":"%s","code":"UNAUTHENTICATED"}`

// The clients of both published services find what they look for: the JSON-RPC 1.0
// calls at their paths, the REST calls at theirs, on servers of one wire and on one of
// all; with the texts of the originals if those are asked for.
func TestOriginalsClients(t *testing.T) {
	for _, compat := range []bool{true, false} {
		f := newFixture(t, true, auth.Options{Compat: compat})
		// The words for a name that is not there, a wrong password, a user that is
		// disabled, a token, and none.
		unknown, wrong, disabled := "401 User Not Allowed", "401 Not Allowed", "403 User 'off' Disabled"
		badToken, noToken := wrong, wrong
		if !compat {
			unknown = "the name or the password is wrong, or the user may not log in"
			wrong, disabled = unknown, unknown
			badToken, noToken = "the token is not valid", `no token: send the metadata authorization, which over HTTP is the header, with \"Bearer \" and the token`
		}
		targets := f.serve(t, restTarget, rpcTarget, anyTarget)
		for _, rpc := range []string{rpcTarget, anyTarget} {
			t.Run(fmt.Sprintf("compat=%v/jsonrpc/%s", compat, targets[rpc].Wire), func(t *testing.T) {
				addr := targets[rpc].Addrs[0]
				checkJSONRPC(t, addr, compat, unknown, wrong, disabled, badToken)
			})
		}
		for _, rest := range []string{restTarget, anyTarget} {
			t.Run(fmt.Sprintf("compat=%v/rest/%s", compat, targets[rest].Wire), func(t *testing.T) {
				checkREST(t, targets[rest].Addrs[0], compat, unknown, wrong, disabled, badToken, noToken)
			})
		}
	}
}

func checkJSONRPC(t *testing.T, addr string, compat bool, unknown, wrong, disabled, badToken string) {
	const authentication, session, admin = "/api/v1/authentication", "/api/v1/session", "/api/v1/authentication/admin"
	call := func(path, method, params string, wantStatus int, want string) string {
		t.Helper()
		status, header, body := raw(t, addr, rpcRequest(path, `{"method":"`+method+`","params":`+params+`,"id":7}`))
		if ok, err := regexp.MatchString("^"+want+"$", body); status != wantStatus || !ok || err != nil {
			t.Errorf("%s%s: %d %s, want %d %s", method, params, status, body, wantStatus, want)
		}
		if header.Get("X-Worker") != "w1" || header.Get("X-Worker-Version") != "v2" || header.Get("Content-Type") != "application/json" {
			t.Errorf("%s: headers %v", method, header)
		}
		return body
	}
	ok := func(result string) string { return `\{"result":` + result + `,"error":null,"id":7\}` }
	failed := func(text string) string {
		return `\{"result":null,"error":"` + regexp.QuoteMeta(text) + `","id":7\}`
	}
	token := tokenIn.FindString(call(authentication, "authentication.Authenticate", `[{"username":"test","password":"secret"}]`, 200, ok(`\{"token":"`+tokenIn.String()+`"\}`)))
	call(authentication, "authentication.Authenticate", `[{"username":"test","password":"Secret"}]`, 400, failed(wrong))
	call(authentication, "authentication.Authenticate", `[{"username":"nobody","password":"secret"}]`, 400, failed(unknown))
	call(authentication, "authentication.Authenticate", `[{"username":"off","password":"secret"}]`, 400, failed(disabled))
	call(authentication, "authentication.Authenticate", `[{"username":"off","password":"wrong"}]`, 400, failed(wrong))
	call(session, "session.Validate", `["`+token+`"]`, 200, ok("true"))
	if compat {
		call(session, "session.Validate", `["`+token+`x"]`, 200, ok("false"))
		call(session, "session.Validate", `[""]`, 200, ok("false"))
	} else {
		call(session, "session.Validate", `["`+token+`x"]`, 400, failed(badToken))
	}
	id := "[0-9a-f-]{36}"
	if compat {
		id = regexp.QuoteMeta(token)
	}
	details := ok(`\{"id":"` + id + `","user":"test","expires":[0-9]{10},"roles":\["user"\]\}`)
	call(session, "session.Details", `[{"authorization":"`+token+`","token":"`+token+`"}]`, 200, details)
	call(session, "session.Details", `[{"authorization":"Bearer `+token+`","token":"`+token+`"}]`, 200, details)
	call(session, "session.Details", `[{"authorization":"`+token+`","token":"x"}]`, 400, failed(badToken))
	call(session, "session.Details", `[{"authorization":"x","token":"`+token+`"}]`, 400, failed(badToken))
	call(admin, "health.Status", `[]`, 200, ok(`\{"status":"up"\}`))
	call(admin, "stats.Status", `[]`, 200, ok(`\{"worker":"w1",.*"logins":\[\{"result":"ok","count":[1-9].*\}`))
	call(admin, "no.Method", `[]`, 400, failed(`unknown method \"no.Method\"`))
	call(authentication, "authentication.Authenticate", `[{"username":"test","password":7}]`, 400, `\{"result":null,"error":"request of .*password.*","id":7\}`)
	// What is no call at all.
	request := rpcRequest(authentication, `{"method":"health.Status","params":[],"id":1}`)
	for _, c := range []struct {
		send   string
		status int
		want   string
	}{
		{rpcRequest(authentication, "{"), 400, `"error":"the text is not JSON`},
		{strings.Replace(request, "POST", "PUT", 1), 405, `"error":"JSON-RPC is POST, not PUT"`},
		{strings.Replace(request, "POST", "GET", 1), 405, `"error":"JSON-RPC is POST, not GET"`},
		{strings.Replace(request, "application/json", "text/plain", 1), 415, `"error":"content type`},
		{strings.Replace(request, "Content-Type: application/json\r\n", "", 1), 415, `"error":"`},
		{strings.Replace(request, "application/json", "application/json; charset=UTF-8", 1), 200, `{"result":{"status":"up"},"error":null,"id":1}`},
	} {
		status, header, body := raw(t, addr, c.send)
		if status != c.status || !strings.Contains(body, c.want) || header.Get("X-Worker") != "w1" {
			t.Errorf("%q: %d %s %v", c.send, status, body, header)
		}
	}
}

func checkREST(t *testing.T, addr string, compat bool, unknown, wrong, disabled, badToken, noToken string) {
	do := func(send string, wantStatus int, want string) (http.Header, string) {
		t.Helper()
		status, header, body := raw(t, addr, send)
		if ok, err := regexp.MatchString("^"+want+"$", body); status != wantStatus || !ok || err != nil {
			t.Errorf("%q: %d %s, want %d %s", send, status, body, wantStatus, want)
		}
		if header.Get("X-Worker") != "w1" || header.Get("X-Worker-Version") != "v2" {
			t.Errorf("%q: headers %v", send, header)
		}
		if wantStatus == 401 && !strings.HasPrefix(header.Get("Www-Authenticate"), "Bearer ") {
			t.Errorf("%q: a 401 without a challenge: %v", send, header)
		}
		return header, body
	}
	failed := func(text string) string { return regexp.QuoteMeta(fmt.Sprintf(problem, text)) }
	const login = "/api/v2/authentication"
	token := `\{"token":"` + tokenIn.String() + `"\}`
	// The load test's body has CR LF in it.
	header, body := do(restPost(login, "{\r\n \"username\":\"test\",\r\n \"password\":\"secret\"\r\n}\r\n"), 200, token)
	if header.Get("Cache-Control") != "no-store" {
		t.Errorf("a token may be cached: %v", header)
	}
	good := tokenIn.FindString(body)
	do(restPost(login, `{"username":"test","claims":["nothing","d70e6e06-claim"]}`), 200, token)
	do(restPost(login, `{"username":"test","claims":["nothing"]}`), 401, failed(wrong))
	do(restPost(login, `{"username":"nobody","claims":["d70e6e06-claim"]}`), 401, failed(unknown))
	do(restPost(login, `{"username":"off","claims":["off-claim"]}`), 401, failed(disabled))
	do(restPost(login, `{"username":"test","password":"Secret"}`), 401, failed(wrong))
	do(restPost(login, `{"username":"nobody","password":"secret"}`), 401, failed(unknown))
	do(restPost(login, `{"username":"off","password":"secret"}`), 401, failed(disabled))
	do(restPost(login, `{"username":"off","password":"wrong"}`), 401, failed(wrong))
	if compat {
		do(restPost(login, `{}`), 401, failed(wrong))
		do(restPost(login, `{"username":"test","password":"secret","claims":["nothing"]}`), 200, token)
	} else {
		do(restPost(login, `{}`), 400, ".*a login needs username, and either password or claims.*")
		do(restPost(login, `{"username":"test","password":"secret","claims":["nothing"]}`), 400, ".*either password or claims.*")
	}
	do(restPost(login, `{`), 400, ".*json: line 1.*")
	do(strings.Replace(restPost(login, "{}"), "application/json", "text/plain", 1), 415, ".*")
	do(restGet(login, ""), 405, ".*")
	for _, path := range []string{"/api/v2/authentication/session", "/api/v2/session"} {
		if header, _ := do(restGet(path, good), 200, ""); header.Get("Content-Length") != "0" {
			t.Errorf("%s: headers %v", path, header)
		}
		do(restGet(path, ""), 401, failed(noToken))
		do(restGet(path, good+"x"), 401, failed(badToken))
		do(strings.Replace(restGet(path, good), "Bearer", "bearer", 1), 200, "")
		do(strings.Replace(restGet(path, good), "Bearer", "Basic", 1), 401, failed(noToken))
		do(strings.Replace(restGet(path, good), "Host:", "Authorization: Bearer "+good+"\r\nHost:", 1), 401, failed(noToken))
		id := "[0-9a-f-]{36}"
		if compat {
			id = regexp.QuoteMeta(good)
		}
		do(restGet(path+"/decoder", good), 200, `\{"id":"`+id+`","user":"test","expires":[0-9]{10},"roles":\["user"\]\}`)
		do(restGet(path+"/decoder", good+"x"), 401, failed(badToken))
	}
	for _, path := range []string{"/health", "/api/v2/authentication/health"} {
		do(restGet(path, ""), 200, `\{"status":"up"\}`)
	}
	for _, path := range []string{"/metrics", "/api/v2/authentication/metrics", "/api/v2/authentication/statistics"} {
		do(restGet(path, ""), 200, `\{"worker":"w1","version":"v2","started":".*Z","uptime_seconds":.*\}`)
		text := strings.Replace(restGet(path, ""), "Host:", "Accept: text/plain\r\nHost:", 1)
		header, _ := do(text, 200, `(?s)# HELP auth_hashes_total .*auth_login_duration_seconds_bucket\{result="ok",le="1e-05"\} .*`)
		if !strings.HasPrefix(header.Get("Content-Type"), "text/plain; version=0.0.4") {
			t.Errorf("%s: content type %q", path, header.Get("Content-Type"))
		}
	}
}
