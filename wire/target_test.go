package wire

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestParseTarget(t *testing.T) {
	opts := func(kv ...string) map[string]string {
		m := map[string]string{}
		for i := 0; i < len(kv); i += 2 {
			m[kv[i]] = kv[i+1]
		}
		return m
	}
	for in, want := range map[string]Target{
		"rest://:8080":                        {Wire: "rest", Transport: "http", Addrs: []string{":8080"}},
		"rest+http://h:80":                    {Wire: "rest", Transport: "http", Addrs: []string{"h:80"}},
		"rest+tls://h:80/":                    {Wire: "rest", Transport: "http", TLS: true, Addrs: []string{"h:80"}},
		"rest://h:80/api/v1":                  {Wire: "rest", Transport: "http", Addrs: []string{"h:80"}, Path: "/api/v1"},
		"rest://h:80?reconnect":               {Wire: "rest", Transport: "http", Addrs: []string{"h:80"}, Options: opts("reconnect", "")},
		"jsonrpc+http://h:8081/api/rpc":       {Wire: "jsonrpc", Transport: "http", Addrs: []string{"h:8081"}, Path: "/api/rpc"},
		"jsonrpc+ws+tls://h:8082/ws?meta=off": {Wire: "jsonrpc", Transport: "ws", TLS: true, Addrs: []string{"h:8082"}, Path: "/ws", Options: opts("meta", "off")},
		"jsonrpc+tcp://h:7070":                {Wire: "jsonrpc", Transport: "tcp", Addrs: []string{"h:7070"}},
		"jsonrpc://h:7070?framing=line":       {Wire: "jsonrpc", Transport: "tcp", Addrs: []string{"h:7070"}, Options: opts("framing", "line")},
		"jsonrpc+unix:///run/x.sock":          {Wire: "jsonrpc", Transport: "unix", Addrs: []string{"/run/x.sock"}},
		"msgpackrpc+tcp+tls://h:1?ca=c.p":     {Wire: "msgpackrpc", Transport: "tcp", TLS: true, Addrs: []string{"h:1"}, Options: opts("ca", "c.p")},
		"grpc://a:1,b:2,[::1]:3":              {Wire: "grpc", Transport: "tcp", Addrs: []string{"a:1", "b:2", "[::1]:3"}},
		"grpc://h:1?codec=json&lb=round_robin": {
			Wire: "grpc", Transport: "tcp", Addrs: []string{"h:1"}, Options: opts("codec", "json", "lb", "round_robin"),
		},
	} {
		got, err := ParseTarget(in)
		if err != nil {
			t.Errorf("ParseTarget(%q): %v", in, err)
			continue
		}
		if diff := cmp.Diff(want, got); diff != "" {
			t.Errorf("ParseTarget(%q): -want +got\n%s", in, diff)
		}
		again, err := ParseTarget(got.String())
		if err != nil || !cmp.Equal(got, again) {
			t.Errorf("%q is written as %q, which reads as %+v, %v", in, got, again, err)
		}
	}
}

func TestParseTargetErrors(t *testing.T) {
	for in, want := range map[string]string{
		"":                               "no scheme",
		"localhost:80":                   "no scheme",
		"soap://h:80":                    `no wire "soap": the wires are rest, jsonrpc, msgpackrpc, grpc`,
		"rest+tcp://h:80":                `no transport "tcp": it has http, unix`,
		"grpc+tls+tcp://h:80":            `"tcp" does not belong after grpc`,
		"grpc://":                        "no address",
		"grpc://h":                       `no port: write h:PORT`,
		"grpc://h:":                      `"" is not a port`,
		"grpc://h:http2":                 `"http2" is not a port`,
		"grpc://h:99999":                 `"99999" is not a port`,
		"grpc://a:1,,b:2":                "no address",
		"grpc://::1:80":                  "is not HOST:PORT",
		"grpc://h:1/path":                `has no path: remove "/path"`,
		"grpc://h:1#x":                   "no fragment",
		"jsonrpc+unix://run/x":           "absolute path",
		"rest://h:80?framing=line":       `rest has no option "framing": it has http, codec,`,
		"grpc://h:80?bytes=hex":          `"bytes" cannot be "hex": it is one of base64, array`,
		"grpc://h:80?codec=json&codec=x": "option codec is given 2 times",
		"rest+h3://h:80?http=2":          `rest+h3 has no option "http"`,
		"rest+h3+tls+x://h:80":           `"x" does not belong`,
		"rest://h:80?reconnect=1":        `"reconnect" takes no value`,
		"rest://h:80?%zz":                "malformed",
		"grpc://h:80?ca=x":               `grpc has no option "ca": it is for TLS, grpc+tls`,
		"msgpackrpc+tcp://h:1?framing=l": `no option "framing"`,
		"jsonrpc+tcp://h:1?framing=x":    `it is one of line`,
		"jsonrpc+ws://h:1?framing=line":  `jsonrpc+ws has no option "framing"`,
		"jsonrpc+tcp://h:1?origins=a.b":  `no option "origins"`,
		"msgpackrpc+ws://h:1":            `msgpackrpc has no transport "ws"`,
	} {
		_, err := ParseTarget(in)
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("ParseTarget(%q) = %v, want an error with %q", in, err, want)
		} else if strings.Contains(err.Error(), "\n") {
			t.Errorf("ParseTarget(%q): the error has more than one line: %v", in, err)
		}
	}
}

func TestParseShape(t *testing.T) {
	got, err := ParseShape("grpc?codec=json")
	if err != nil || got.String() != "grpc?codec=json" {
		t.Errorf("got %v, %v", got, err)
	}
	if s := got.At("127.0.0.1:9").String(); s != "grpc://127.0.0.1:9?codec=json" {
		t.Errorf("At: %s", s)
	}
	for _, bad := range []string{"grpc://h:1", "grpc?bytes=x", "nope", "grpc+"} {
		if _, err := ParseShape(bad); err == nil {
			t.Errorf("ParseShape(%q) succeeded", bad)
		}
	}
}

// Whatever parses is written so that it parses to the same.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{
		"rest://:8080", "jsonrpc+http+tls://[::1]:1/rpc?ca=a%20b&servername=x", "grpc://a:1,b:2?codec=json",
		"jsonrpc+unix:///run/x.sock?cancel=off", "msgpackrpc://h:1?meta=on", "rest://:1?&",
	} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		target, err := ParseTarget(s)
		if err != nil {
			return
		}
		again, err := ParseTarget(target.String())
		if err != nil {
			t.Fatalf("%q is written as %q, which does not parse: %v", s, target, err)
		}
		if diff := cmp.Diff(target, again); diff != "" {
			t.Fatalf("%q is written as %q:\n%s", s, target, diff)
		}
	})
}
