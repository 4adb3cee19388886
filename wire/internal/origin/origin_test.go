package origin

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestParse(t *testing.T) {
	for v, ok := range map[string]bool{
		"*": true, "a.example": true, "a.example:8080,B.example": true, "https://a.example,http://localhost:3000": true, "[::1]:80": true,
		"": false, "a.example,": false, "https://": false, "ftp://a.example": false, "https://a.example/": false,
		"a.example/path": false, "https://*.example": true, "user@a.example": false, "a b": false, "null": true,
	} {
		if _, err := Parse(v); (err == nil) != ok {
			t.Errorf("%q: %v", v, err)
		}
	}
}

func TestHas(t *testing.T) {
	for _, c := range []struct {
		list, origin string
		want         bool
	}{
		{"*", "https://anywhere.example", true},
		{"*", "null", true},
		{"a.example", "https://a.example", true},
		{"a.example", "http://A.example", true},
		{"a.example", "https://a.example:8443", false},
		{"a.example", "https://b.a.example", false},
		{"a.example", "https://a.example.evil.example", false},
		{"https://a.example", "https://a.example", true},
		{"https://a.example", "http://a.example", false},
		{"https://a.example", "null", false},
		{"null", "null", false},
		{"https://*.example", "https://a.example", false},
		{"a.example,http://b.example:81", "http://b.example:81", true},
	} {
		l, err := Parse(c.list)
		if err != nil {
			t.Fatal(err)
		}
		if got := l.has(c.origin); got != c.want {
			t.Errorf("%s has %s: %v", c.list, c.origin, got)
		}
	}
}

func TestAllowUpgrade(t *testing.T) {
	l, err := Parse("https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		origins []string
		want    bool
	}{
		{nil, true},
		{[]string{"http://own.example"}, true},
		{[]string{"https://a.example"}, true},
		{[]string{"http://a.example"}, false},
		{[]string{"null"}, false},
		{[]string{"https://a.example", "https://a.example"}, false},
	} {
		r := httptest.NewRequest(http.MethodGet, "http://own.example/", nil)
		r.Header["Origin"] = c.origins
		if got := l.AllowUpgrade(r); got != c.want {
			t.Errorf("%q: %v", c.origins, got)
		}
	}
}

func TestFromOptions(t *testing.T) {
	for _, c := range []struct {
		origins, credentials string
		want                 string // "" for a policy that is on
	}{
		{"", "", "off"},
		{"", "on", "needs origins"},
		{"*", "", ""},
		{"*", "on", "its scheme"},
		{"a.example", "", ""},
		{"https://a.example,b.example", "on", "its scheme"},
		{"https://a.example,*", "on", "its scheme"},
		{"https://a.example", "on", ""},
		{"https://a.example/", "", "is not an origin"},
	} {
		options := map[string]string{}
		if c.origins != "" {
			options["origins"] = c.origins
		}
		if c.credentials != "" {
			options["credentials"] = c.credentials
		}
		p, err := FromOptions(options)
		switch {
		case c.want == "off":
			if err != nil || p.on {
				t.Errorf("%q, %q: %v, %v", c.origins, c.credentials, p, err)
			}
		case (p != nil && p.on) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want):
			t.Errorf("%q, %q: %v, %v", c.origins, c.credentials, p, err)
		}
	}
}

func TestAnswer(t *testing.T) {
	inner := http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusTeapot) })
	preflight := http.Header{"Access-Control-Request-Method": {"PUT"}, "Access-Control-Request-Headers": {"content-type,x-a"}}
	for _, c := range []struct {
		name, origins, credentials, origin string
		preflight                          bool
		status                             int
		want                               map[string]string
	}{
		{"any", "*", "", "https://a.example", false, 418, map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Expose-Headers": "*"}},
		{"any, preflight", "*", "", "https://a.example", true, 204, map[string]string{
			"Access-Control-Allow-Origin": "*", "Access-Control-Allow-Methods": "PUT", "Access-Control-Allow-Headers": "content-type,x-a",
			"Access-Control-Max-Age": "7200", "Vary": "Access-Control-Request-Method, Access-Control-Request-Headers"}},
		{"named", "https://a.example", "", "https://a.example", false, 418, map[string]string{
			"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Expose-Headers": "*", "Vary": "Origin"}},
		{"another", "https://a.example", "", "https://b.example", false, 418, map[string]string{"Vary": "Origin"}},
		{"another, preflight", "https://a.example", "", "https://b.example", true, 418, map[string]string{"Vary": "Origin"}},
		{"none", "https://a.example", "", "", false, 418, map[string]string{"Vary": "Origin"}},
		{"credentials", "https://a.example", "on", "https://a.example", false, 418, map[string]string{
			"Access-Control-Allow-Origin": "https://a.example", "Access-Control-Allow-Credentials": "true",
			"Access-Control-Expose-Headers": exposed, "Vary": "Origin"}},
		{"credentials, another", "https://a.example", "on", "http://a.example", true, 418, map[string]string{"Vary": "Origin"}},
		{"off", "", "", "https://a.example", true, 418, map[string]string{}},
	} {
		options := map[string]string{"credentials": c.credentials}
		if c.origins != "" {
			options["origins"] = c.origins
		}
		p, err := FromOptions(options)
		if err != nil {
			t.Fatal(err)
		}
		r := httptest.NewRequest(http.MethodPost, "/", nil)
		if c.preflight {
			r = httptest.NewRequest(http.MethodOptions, "/", nil)
			r.Header = preflight.Clone()
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		w := httptest.NewRecorder()
		p.Handler(inner).ServeHTTP(w, r)
		if w.Code != c.status {
			t.Errorf("%s: status %d", c.name, w.Code)
		}
		for _, name := range []string{"Access-Control-Allow-Origin", "Access-Control-Allow-Credentials", "Access-Control-Allow-Methods",
			"Access-Control-Allow-Headers", "Access-Control-Max-Age", "Access-Control-Expose-Headers"} {
			if got := w.Header().Get(name); got != c.want[name] {
				t.Errorf("%s: %s is %q, want %q", c.name, name, got, c.want[name])
			}
		}
		if got := strings.Join(w.Header()["Vary"], ", "); !strings.Contains(got, c.want["Vary"]) {
			t.Errorf("%s: Vary %q", c.name, got)
		}
		// Never both.
		if w.Header().Get("Access-Control-Allow-Origin") == "*" && w.Header().Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s: * together with credentials", c.name)
		}
	}
}

func TestAllowPost(t *testing.T) {
	listed, err := Parse("https://a.example")
	if err != nil {
		t.Fatal(err)
	}
	every, err := Parse("*")
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		site, origin      string
		none, some, wants bool // with no list, with a list, with *
	}{
		{"", "", true, true, true},
		{"", "http://own.example:8080", true, true, true},
		{"", "https://a.example", false, true, true},
		{"", "https://b.example", false, false, true},
		{"", "null", false, false, true},
		{"same-origin", "", true, true, true},
		{"same-origin", "https://behind-a-proxy.example", true, true, true},
		{"none", "", true, true, true},
		{"same-site", "https://b.own.example", false, false, true},
		{"cross-site", "https://a.example", false, true, true},
		{"cross-site", "null", false, false, true},
		{"cross-site", "", false, false, true},
		{"cross-site", "http://own.example:8080", false, false, true},
	} {
		r := httptest.NewRequest(http.MethodPost, "http://own.example:8080/x", nil)
		if c.site != "" {
			r.Header.Set("Sec-Fetch-Site", c.site)
		}
		if c.origin != "" {
			r.Header.Set("Origin", c.origin)
		}
		for l, want := range map[*List]bool{{}: c.none, &listed: c.some, &every: c.wants} {
			if got := l.AllowPost(r); got != want {
				t.Errorf("site %q, origin %q, list %+v: %v", c.site, c.origin, *l, got)
			}
		}
	}
}
