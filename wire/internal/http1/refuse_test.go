package http1

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// What two readers could take for different requests, or for two, is refused,
// and nothing runs.
func TestRefused(t *testing.T) {
	const get, post = "GET / HTTP/1.1\r\nHost: x\r\n", "POST / HTTP/1.1\r\nHost: x\r\n"
	for _, c := range []struct {
		name, request string
		status        int
		detail        string // a part of it
	}{
		{"length and coding", post + "Content-Length: 5\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "both Content-Length and Transfer-Encoding"},
		{"coding and length", post + "Transfer-Encoding: chunked\r\nContent-Length: 0\r\n\r\n0\r\n\r\n", 400, "both Content-Length and Transfer-Encoding"},
		{"two lengths", post + "Content-Length: 2\r\nContent-Length: 3\r\n\r\nab ", 400, "2 Content-Length fields"},
		{"the same length twice", post + "Content-Length: 2\r\ncontent-length: 2\r\n\r\nab", 400, "2 Content-Length fields"},
		{"a list of lengths", post + "Content-Length: 2, 2\r\n\r\nab", 400, `"2, 2"`},
		{"a negative length", post + "Content-Length: -2\r\n\r\nab", 400, `"-2"`},
		{"a length with a sign", post + "Content-Length: +2\r\n\r\nab", 400, `"+2"`},
		{"a hexadecimal length", post + "Content-Length: 0x2\r\n\r\nab", 400, `"0x2"`},
		{"a length with a fraction", post + "Content-Length: 2.0\r\n\r\nab", 400, `"2.0"`},
		{"a length with a space inside", post + "Content-Length: 2 0\r\n\r\nab", 400, `"2 0"`},
		{"an empty length", post + "Content-Length:\r\n\r\n", 400, `""`},
		{"a length that overflows", post + "Content-Length: 18446744073709551618\r\n\r\nab", 400, "18446744073709551618"},

		{"two codings", post + "Transfer-Encoding: chunked\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "not just chunked"},
		{"chunked twice", post + "Transfer-Encoding: chunked, chunked\r\n\r\n0\r\n\r\n", 400, "not just chunked"},
		{"chunked and nothing", post + "Transfer-Encoding: , chunked\r\n\r\n0\r\n\r\n", 400, "not just chunked"},
		{"chunked with a parameter", post + "Transfer-Encoding: chunked;x=1\r\n\r\n0\r\n\r\n", 400, "not just chunked"},
		{"a quoted coding", post + "Transfer-Encoding: \"chunked\"\r\n\r\n0\r\n\r\n", 400, "not just chunked"},
		{"an empty coding", post + "Transfer-Encoding:\r\n\r\n", 400, "not just chunked"},
		{"a coding with a vertical tab", post + "Transfer-Encoding: \x0bchunked\r\n\r\n0\r\n\r\n", 400, "control character"},
		{"an unknown coding", post + "Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n", 501, `"gzip"`},
		{"identity", post + "Transfer-Encoding: identity\r\n\r\n", 501, `"identity"`},
		{"almost chunked", post + "Transfer-Encoding: xchunked\r\n\r\n0\r\n\r\n", 501, `"xchunked"`},
		{"a coding in HTTP/1.0", "POST / HTTP/1.0\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 400, "HTTP/1.0"},

		{"a bare LF in the first line", "GET / HTTP/1.1\nHost: x\r\n\r\n", 400, "carriage return"},
		{"a bare LF at a field", "GET / HTTP/1.1\r\nHost: x\nA: b\r\n\r\n", 400, "carriage return"},
		{"a bare LF at the end", get + "\n", 400, "carriage return"},
		{"a bare CR", get + "A: b\rContent-Length: 3\r\n\r\n", 400, "control character"},
		{"a bare CR in a name", get + "A\r: b\r\n\r\n", 400, "name"},
		{"two CRs", get + "A: b\r\r\n\r\n", 400, "control character"},
		{"NUL in a value", get + "A: b\x00c\r\n\r\n", 400, "control character"},
		{"DEL in a value", get + "A: b\x7fc\r\n\r\n", 400, "control character"},
		{"ESC in a value", get + "A: b\x1bc\r\n\r\n", 400, "control character"},
		{"a folded field", get + "A: b\r\n c\r\n\r\n", 400, "folded"},
		{"a field that begins with a tab", "GET / HTTP/1.1\r\n\tHost: x\r\n\r\n", 400, "white space"},
		{"space before the colon", get + "Content-Length : 2\r\n\r\nab", 400, "name"},
		{"a tab before the colon", get + "A\t: b\r\n\r\n", 400, "name"},
		{"a name with a space", get + "A B: c\r\n\r\n", 400, "name"},
		{"a name with a parenthesis", get + "A(: b\r\n\r\n", 400, "name"},
		{"a name that is not ASCII", get + "\xc3\x84: b\r\n\r\n", 400, "name"},
		{"no name", get + ": b\r\n\r\n", 400, "no name"},
		{"no colon", get + "Content-Length\r\n\r\n", 400, "no colon"},

		{"no host", "GET / HTTP/1.1\r\n\r\n", 400, "no Host"},
		{"two hosts", get + "Host: x\r\n\r\n", 400, "2 Host"},
		{"two hosts in HTTP/1.0", "GET / HTTP/1.0\r\nHost: x\r\nHost: y\r\n\r\n", 400, "2 Host"},
		{"a host with a path", "GET / HTTP/1.1\r\nHost: x/y\r\n\r\n", 400, `"x/y"`},
		{"a host with a user", "GET / HTTP/1.1\r\nHost: a@x\r\n\r\n", 400, `"a@x"`},
		{"a list of hosts", "GET / HTTP/1.1\r\nHost: x, y\r\n\r\n", 400, `"x, y"`},
		{"no host beside a URL", "GET http://x/ HTTP/1.1\r\n\r\n", 400, "no Host"},

		{"two spaces", "GET  / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "first line"},
		{"a space behind the version", "GET / HTTP/1.1 \r\nHost: x\r\n\r\n", 400, "version"},
		{"a space in the target", "GET /a b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "version"},
		{"a tab between", "GET\t/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "first line"},
		{"no version", "GET /\r\n\r\n", 400, "first line"},
		{"a version in lower case", "GET / http/1.1\r\nHost: x\r\n\r\n", 400, "version"},
		{"a long version", "GET / HTTP/1.10\r\nHost: x\r\n\r\n", 400, "version"},
		{"a method that is none", "G=T / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "first line"},
		{"white space first", " GET / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "begins with"},
		{"two empty lines first", "\r\n\r\nGET / HTTP/1.1\r\nHost: x\r\n\r\n", 400, "begins with"},
		{"TLS", "\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03", 400, "begins with"},
		{"HTTP/2.0", "GET / HTTP/2.0\r\nHost: x\r\n\r\n", 505, "HTTP/2.0"},
		{"HTTP/0.9", "GET / HTTP/0.9\r\n\r\n", 505, "HTTP/0.9"},
		{"the preface of HTTP/2", "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n", 505, "HTTP/2.0"},

		{"a fragment", "GET /a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a fragment in the query", "GET /?a#b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a bad escape", "GET /%zz HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"DEL in the target", "GET /\x7f HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a target without a slash", "GET a/b HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a URL without a host", "GET http:///a HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a URL with a user", "GET http://a@x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"a URL of another scheme", "GET ftp://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "target"},
		{"GET *", "GET * HTTP/1.1\r\nHost: x\r\n\r\n", 400, "OPTIONS"},
		{"CONNECT to a URL", "CONNECT http://x/ HTTP/1.1\r\nHost: x\r\n\r\n", 400, "CONNECT"},

		{"another expectation", post + "Content-Length: 2\r\nExpect: the-worst\r\n\r\n", 417, "the-worst"},
		{"two expectations", post + "Content-Length: 2\r\nExpect: 100-continue\r\nExpect: more\r\n\r\n", 417, "more"},
		{"a trailer that cannot be one", post + "Transfer-Encoding: chunked\r\nTrailer: Content-Length\r\n\r\n0\r\n\r\n", 400, "Content-Length"},

		{"a long first line", "GET /" + strings.Repeat("a", 3000), 414, "2000"},
		{"a long head", get + strings.Repeat("A: b\r\n", 500), 431, "2000"},
		{"a head that ends over the limit", get + strings.Repeat("A: b\r\n", 330) + "\r\n", 431, "2000"},
		{"a long field", get + "A: " + strings.Repeat("b", 3000), 431, "2000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := start(t, Config{MaxHead: 2000, Handler: http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
				t.Errorf("the handler got %s %s", r.Method, r.RequestURI)
			})})
			client := f.dial()
			client.send(c.request)
			checkRefusal(t, client.receive("GET"), c.status, c.detail)
			client.ended()
		})
	}
}

func checkRefusal(t *testing.T, r answer, status int, detail string) {
	t.Helper()
	var problem struct {
		Type, Title, Detail string
		Status              int
	}
	if err := json.Unmarshal([]byte(r.body), &problem); err != nil {
		t.Fatalf("%d %q: %v", r.status, r.body, err)
	}
	if r.status != status || problem.Status != status || problem.Title != http.StatusText(status) || problem.Type != "about:blank" ||
		!strings.Contains(problem.Detail, detail) || r.Header.Get("Content-Type") != "application/problem+json" || !r.Close || r.Header.Get("Date") == "" {
		t.Errorf("got %d %v %s, want %d with %q", r.status, r.Header, r.body, status, detail)
	}
}

// What is odd but clear is accepted.
func TestAccepted(t *testing.T) {
	for name, request := range map[string]string{
		"an empty line first":       "\r\nGET /want HTTP/1.1\r\nHost: x\r\n\r\n",
		"a value without a space":   "GET /want HTTP/1.1\r\nHost:x\r\n\r\n",
		"white space around values": "GET /want HTTP/1.1\r\nHost: \t x \t \r\n\r\n",
		"empty values":              "GET /want HTTP/1.1\r\nHost:\r\nA:\r\nB: \r\n\r\n",
		"bytes over 0x7f":           "GET /want HTTP/1.1\r\nHost: x\r\nA: \xff\r\n\r\n",
		"a later minor version":     "GET /want HTTP/1.7\r\nHost: x\r\n\r\n",
		"HTTP/1.0 without a host":   "GET /want HTTP/1.0\r\n\r\n",
		"names in any letter case":  "GET /want HTTP/1.1\r\nhOsT: x\r\nCONTENT-LENGTH: 0\r\n\r\n",
		"a length with zeros":       "POST /want HTTP/1.1\r\nHost: x\r\nContent-Length: 00\r\n\r\n",
		"chunked in any case":       "POST /want HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: Chunked\r\n\r\n0\r\n\r\n",
		"an IPv6 host":              "GET /want HTTP/1.1\r\nHost: [::1]:80\r\n\r\n",
		"an expectation of 1.0":     "POST /want HTTP/1.0\r\nExpect: the-worst\r\n\r\n",
		"a method of one's own":     "FROB-x /want HTTP/1.1\r\nHost: x\r\n\r\n",
	} {
		c := handle(t, tell).dial()
		c.send(request)
		if r := c.receive("GET"); r.status != 200 || !strings.Contains(r.body, "/want \"\"") {
			t.Errorf("%s: %d %s", name, r.status, r.body)
		}
	}
}

func TestTargets(t *testing.T) {
	f := handle(t, func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewEncoder(w).Encode([]string{r.Host, r.URL.Path, r.URL.RawPath, r.URL.RawQuery, r.URL.String(), r.RequestURI})
	})
	for _, c := range []struct{ line, want string }{
		{"GET /", `["h","/","","","/","/"]`},
		{"GET /a/b;c=d,e?f=g&h", `["h","/a/b;c=d,e","","f=g\u0026h","/a/b;c=d,e?f=g\u0026h","/a/b;c=d,e?f=g\u0026h"]`},
		{"GET /?", `["h","/","","","/?","/?"]`},
		{"GET /a%2Fb%20c", `["h","/a/b c","/a%2Fb%20c","","/a%2Fb%20c","/a%2Fb%20c"]`},
		{"GET //a//", `["h","//a//","","","//a//","//a//"]`},
		{"GET /a/../b/.", `["h","/a/../b/.","","","/a/../b/.","/a/../b/."]`},
		{"GET /(a)", `["h","/(a)","/(a)","","/(a)","/(a)"]`},
		{"GET http://other:8/a?b", `["other:8","/a","","b","http://other:8/a?b","http://other:8/a?b"]`},
		{"GET https://other", `["other","/","","","https://other/","https://other"]`},
		{"GET http://other?a", `["other","/","","a","http://other/?a","http://other?a"]`},
		{"CONNECT other:443", `["other:443","","","","//other:443","other:443"]`},
	} {
		client := f.dial()
		client.send(c.line + " HTTP/1.1\r\nHost: h\r\n\r\n")
		if r := client.receive("GET"); strings.TrimSpace(r.body) != c.want {
			t.Errorf("%s: %s, want %s", c.line, r.body, c.want)
		}
	}
	c := f.dial()
	c.send("OPTIONS * HTTP/1.1\r\nHost: h\r\n\r\n")
	if r := c.receive("OPTIONS"); r.status != 200 || r.ContentLength != 0 {
		t.Errorf("OPTIONS *: %d %s", r.status, r.body)
	}
}

// A refusal of HEAD has no body, or what follows would be taken for it.
func TestRefusedHead(t *testing.T) {
	c := handle(t, tell).dial()
	c.send("HEAD / HTTP/1.1\r\nHost: x\r\nHost: y\r\n\r\n")
	if r := c.receive("HEAD"); r.status != 400 || r.ContentLength <= 0 {
		t.Errorf("%d, length %d", r.status, r.ContentLength)
	}
	c.ended()
}
