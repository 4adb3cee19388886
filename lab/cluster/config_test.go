package cluster

import (
	"context"
	"errors"
	"regexp"
	"slices"
	"strings"
	"testing"
)

func valid(p Protocol) Config { return Config{Protocol: p, Backends: []string{"127.0.0.1:8080"}} }

// Nothing but what was meant gets into the configuration.
func TestConfigRefuses(t *testing.T) {
	for want, c := range map[string]Config{
		`no protocol ""`:               {Backends: []string{"127.0.0.1:1"}},
		`no protocol "http;"`:          {Protocol: "http;", Backends: []string{"127.0.0.1:1"}},
		"0 backends":                   {Protocol: HTTP},
		"1001 backends":                {Protocol: HTTP, Backends: slices.Repeat([]string{"127.0.0.1:1"}, 1001)},
		"-1 connections kept alive":    {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, KeepAlive: -1},
		"-1 workers":                   {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, Workers: -1},
		"left out for -1 seconds":      {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, FailTimeout: -1},
		"certificates are needed":      {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, TLS: true},
		`"a;b" is no name`:             {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, ServerName: "a;b"},
		`"$host" is no name`:           {Protocol: HTTP, Backends: []string{"127.0.0.1:1"}, ServerName: "$host"},
		"TLS is between client and":    {Protocol: Stream, Backends: []string{"127.0.0.1:1"}, TLS: true},
		"no connection is kept":        {Protocol: Stream, Backends: []string{"127.0.0.1:1"}, KeepAlive: 1},
		"connections kept alive: want": {Protocol: GRPC, Backends: []string{"127.0.0.1:1"}, KeepAlive: maxKeepAlive + 1},
	} {
		if _, err := c.withDefaults(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: %v, want %q", c, err, want)
		}
	}
	for _, b := range []string{
		"", "127.0.0.1", "127.0.0.1:", "127.0.0.1:0", "127.0.0.1:65536", "127.0.0.1:080", "127.0.0.1:+1", ":80", "localhost:80",
		"127.0.0.1:80; include /etc/passwd", "127.0.0.1:80 down", "127.0.0.1:80\n", "127.0.0.1:80#", "$host:80", "unix:/run/x.sock",
		"[::1]:80;", "[fe80::1%eth0]:80", "::1:80", "[0:0::1]:80", "127.0.0.1:80;}server{",
	} {
		c := valid(HTTP)
		c.Backends = []string{b}
		if _, err := c.withDefaults(); err == nil || !strings.Contains(err.Error(), "not an address with a port") {
			t.Errorf("the backend %q: %v", b, err)
		}
	}
	for _, dir := range []string{"/tmp/a b", "/tmp/a;b", "/tmp/$x", "/tmp/a\nb", `/tmp/"`, "/tmp/'", "/tmp/{", "/tmp/#", `/tmp/\`, "relative", "/" + strings.Repeat("x", 100)} {
		if safePath.MatchString(dir) {
			t.Errorf("the folder %q is taken", dir)
		}
	}
}

// What a configuration says for each way to be asked.
func TestRender(t *testing.T) {
	for name, c := range map[string]struct {
		conf     conf
		has, not []string
	}{
		"http without keep-alive": {conf{Config: valid(HTTP)},
			[]string{"proxy_http_version 1.0;", "Connection close;", "proxy_pass http://backends;", "access_log off;"},
			[]string{"keepalive 0", "ssl", "grpc_pass", "stream {", "user ", "load_module"}},
		"http with keep-alive": {conf{Config: Config{Protocol: HTTP, Backends: []string{"127.0.0.1:1", "[::1]:2"}, KeepAlive: 7, Log: true}, Dir: "/d"},
			[]string{"keepalive 7;", "proxy_http_version 1.1;", `Connection "";`, "server 127.0.0.1:1 ", "server [::1]:2 ", "access_log /d/access.log backends;"},
			[]string{"proxy_http_version 1.0"}},
		"grpc": {conf{Config: valid(GRPC)},
			[]string{"http2;", "grpc_pass grpc://backends;", "grpc_next_upstream error timeout;"},
			[]string{"http2 on", "ssl", "proxy_pass"}},
		"grpc with TLS on a newer NGINX": {conf{Config: Config{Protocol: GRPC, Backends: []string{"127.0.0.1:1"}, TLS: true, ServerName: "localhost"}, Dir: "/d", HTTP2Directive: true},
			[]string{"http2 on;", " ssl;", "grpc_pass grpcs://backends;", "grpc_ssl_verify on;", "grpc_ssl_trusted_certificate /d/backends.pem;", "grpc_ssl_name localhost;"},
			[]string{"http2;"}},
		"stream": {conf{Config: valid(Stream), Module: "/m/ngx_stream_module.so", User: "root root"},
			[]string{"load_module /m/ngx_stream_module.so;", "user root root;", "proxy_pass backends;"},
			[]string{"http {", "keepalive"}},
	} {
		t.Run(name, func(t *testing.T) {
			text, err := c.conf.render()
			if err != nil {
				t.Fatal(err)
			}
			for _, s := range c.has {
				if !strings.Contains(string(text), s) {
					t.Errorf("it lacks %q:\n%s", s, text)
				}
			}
			for _, s := range c.not {
				if strings.Contains(string(text), s) {
					t.Errorf("it has %q:\n%s", s, text)
				}
			}
			// What may run twice is HTTP's to say: no POST is sent again.
			if regexp.MustCompile(`next_upstream [^;]*non_idempotent`).Match(text) {
				t.Errorf("NGINX would send again what may have run:\n%s", text)
			}
		})
	}
}

func TestParseInstallation(t *testing.T) {
	n, err := parseInstallation("nginx version: nginx/1.22.1\nbuilt with OpenSSL\nconfigure arguments: --with-cc-opt='-g -O2' --prefix=/usr/share/nginx --with-stream=dynamic --with-threads\n")
	if err != nil {
		t.Fatal(err)
	}
	if n.version != [3]int{1, 22, 1} || n.options["prefix"] != "/usr/share/nginx" || n.options["with-stream"] != "dynamic" {
		t.Errorf("got %+v", n)
	}
	if _, ok := n.options["with-threads"]; !ok {
		t.Errorf("got %+v", n)
	}
	for _, c := range []struct {
		major, minor, patch int
		want                bool
	}{{1, 22, 1, true}, {1, 22, 0, true}, {1, 21, 9, true}, {0, 99, 99, true}, {1, 22, 2, false}, {1, 23, 0, false}, {2, 0, 0, false}} {
		if got := n.atLeast(c.major, c.minor, c.patch); got != c.want {
			t.Errorf("1.22.1 is at least %d.%d.%d: %v", c.major, c.minor, c.patch, got)
		}
	}
	built := &installation{options: map[string]string{"with-stream": ""}}
	if module, err := built.streamModule(); module != "" || err != nil {
		t.Errorf("with streams built in: %q, %v", module, err)
	}
	if _, err := parseInstallation("usage: nginx"); err == nil {
		t.Error("no version, and no error")
	}
}

// Without NGINX there is an error that callers can tell from others.
func TestNoNginx(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	if _, err := find(t.Context(), []string{t.TempDir()}); !errors.Is(err, ErrNoNginx) {
		t.Errorf("without NGINX: %v", err)
	}
}

// What NGINX finds wrong is told in its own words.
func TestOwnWords(t *testing.T) {
	n, err := StartNginx(context.WithoutCancel(t.Context()), valid(HTTP))
	if errors.Is(err, ErrNoNginx) {
		t.Skip("told by the other tests")
	}
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := n.Stop(); err != nil {
			t.Error(err)
		}
	}()
	bad := n.conf
	bad.Backends = []string{"127.0.0.1:1 nonsense"}
	if err := n.configure(t.Context(), &bad); err == nil || !strings.Contains(err.Error(), `invalid parameter "nonsense"`) {
		t.Errorf("configure: %v", err)
	}
	text, err := n.Configuration()
	if err != nil || !strings.Contains(text, "server 127.0.0.1:8080 ") {
		t.Errorf("the configuration in force is %q, %v", text, err)
	}
}

func TestParseEntry(t *testing.T) {
	for line, want := range map[string]Entry{
		"127.0.0.1:1|200":              {[]string{"127.0.0.1:1"}, "200"},
		"[::1]:1|200":                  {[]string{"[::1]:1"}, "200"},
		"127.0.0.1:1, 127.0.0.1:2|200": {[]string{"127.0.0.1:1", "127.0.0.1:2"}, "200"},
		"127.0.0.1:1, backends|502":    {[]string{"127.0.0.1:1"}, "502"},
		"backends|502":                 {nil, "502"},
		"-|400":                        {nil, "400"},
	} {
		got, err := parseEntry(line)
		if err != nil || got.Status != want.Status || !slices.Equal(got.Backends, want.Backends) {
			t.Errorf("%q: %v, %v; want %v", line, got, err, want)
		}
	}
	for _, line := range []string{"", "127.0.0.1:1", "127.0.0.1:1|", "a|b|c"} {
		if e, err := parseEntry(line); err == nil {
			t.Errorf("%q: %v", line, e)
		}
	}
}

// Whatever text comes in: no panic, and backends that are taken are text that
// cannot end a directive.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"127.0.0.1:1, 127.0.0.1:2|200", "-|0", "[::1]:80", "127.0.0.1:80;", "nginx version: nginx/1.2.3\nconfigure arguments: --a=b --c"} {
		f.Add(s)
	}
	harmless := regexp.MustCompile(`^[0-9a-f.:\[\]]+$`)
	f.Fuzz(func(t *testing.T, text string) {
		if e, err := parseEntry(text); err == nil && (e.Status == "" || slices.Contains(e.Backends, "")) {
			t.Errorf("%q is %+v", text, e)
		}
		if n, err := parseInstallation(text); err == nil && n.version[0] > 99999 {
			t.Errorf("%q is %+v", text, n)
		}
		if checkBackends([]string{text}) == nil && !harmless.MatchString(text) {
			t.Errorf("the backend %q is taken", text)
		}
	})
}
