package wire

import (
	"fmt"
	"maps"
	"net"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// A Target says where a service is and how to speak to it. See the package
// comment for its text form.
type Target struct {
	// Wire is rest, jsonrpc, msgpackrpc, grpc or connect, or any for a server of
	// all.
	Wire string
	// Transport is http, tcp, unix, ws, or h3 for HTTP/3, which is always over TLS.
	Transport string
	TLS       bool
	// Addrs are host:port pairs, or the path of one unix socket.
	Addrs []string
	// Path is the HTTP path, "" if the target has none.
	Path string
	// Options are checked against the table of options.
	Options map[string]string
}

// shape is what a target says beside its address; it selects the code that
// speaks it.
type shape struct{ wire, transport string }

// wires lists each wire's transports; the first is the default. A wire whose
// name says enough is written without its default transport.
var wires = []struct {
	name       string
	transports []string
	plain      bool // written without the default transport
}{
	{"rest", []string{"http", "unix", "h3"}, true},
	{"jsonrpc", []string{"tcp", "http", "unix", "ws"}, false},
	{"msgpackrpc", []string{"tcp", "unix"}, false},
	{"grpc", []string{"tcp", "unix"}, true},
	{"connect", []string{"http", "unix"}, true},
	{"any", []string{"tcp", "unix"}, true},
}

// Wires returns the names of the wires.
func Wires() []string {
	names := make([]string, len(wires))
	for i, w := range wires {
		names[i] = w.name
	}
	return names
}

// Transports returns the transports of a wire, the default first; nil if there is
// no such wire.
func Transports(wire string) []string {
	for _, w := range wires {
		if w.name == wire {
			return slices.Clone(w.transports)
		}
	}
	return nil
}

// ParseTarget reads a target. Its errors are of type [*TargetError].
func ParseTarget(s string) (Target, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	if !ok {
		return Target{}, targetError(s, "it has no scheme: write WIRE://HOST:PORT, such as rest://localhost:8080")
	}
	t, err := parseScheme(s, scheme)
	if err != nil {
		return Target{}, err
	}
	if i := strings.IndexFunc(s, unprintable); i >= 0 {
		return Target{}, targetError(s, "it has a space or an unprintable character at byte %d", i)
	}
	rest, query, hasQuery := strings.Cut(rest, "?")
	if strings.ContainsAny(rest, "#") {
		return Target{}, targetError(s, "a target has no fragment (#)")
	}
	if err := t.parseAddress(s, rest); err != nil {
		return Target{}, err
	}
	if hasQuery && query != "" {
		if err := t.parseOptions(s, query); err != nil {
			return Target{}, err
		}
	}
	return t, nil
}

// ParseShape reads a target without its address, such as "grpc?codec=json".
func ParseShape(s string) (Target, error) {
	scheme, query, hasQuery := strings.Cut(s, "?")
	if strings.Contains(scheme, "://") {
		return Target{}, targetError(s, "give the wire only, without an address: rest, jsonrpc+tcp, grpc?codec=json")
	}
	t, err := parseScheme(s, scheme)
	if err == nil && hasQuery && query != "" {
		err = t.parseOptions(s, query)
	}
	return t, err
}

func parseScheme(s, scheme string) (Target, error) {
	parts := strings.Split(scheme, "+")
	t := Target{Wire: parts[0]}
	i := slices.Index(Wires(), t.Wire)
	if i < 0 {
		return Target{}, targetError(s, "there is no wire %q: the wires are %s", t.Wire, strings.Join(Wires(), ", "))
	}
	transports := wires[i].transports
	t.Transport = transports[0]
	parts = parts[1:]
	if len(parts) > 0 && parts[0] != "tls" {
		if !slices.Contains(transports, parts[0]) {
			return Target{}, targetError(s, "%s has no transport %q: it has %s", t.Wire, parts[0], strings.Join(transports, ", "))
		}
		t.Transport = parts[0]
		parts = parts[1:]
	}
	t.TLS = t.Transport == "h3"
	if len(parts) > 0 && parts[0] == "tls" {
		t.TLS = true
		parts = parts[1:]
	}
	if len(parts) > 0 {
		return Target{}, targetError(s, "%q does not belong after %s: the form is WIRE[+TRANSPORT][+tls]://", parts[0], t.Wire)
	}
	return t, nil
}

func unprintable(r rune) bool {
	return unicode.IsSpace(r) || !unicode.IsPrint(r) || r == utf8.RuneError
}

func (t *Target) parseAddress(s, rest string) error {
	if t.Transport == "unix" {
		if !strings.HasPrefix(rest, "/") || len(rest) == 1 {
			return targetError(s, "a unix socket needs an absolute path: %s+unix:///run/NAME.sock", t.Wire)
		}
		t.Addrs = []string{rest}
		return nil
	}
	addrs, path, hasPath := strings.Cut(rest, "/")
	if hasPath && path != "" {
		if t.Transport != "http" && t.Transport != "ws" && t.Transport != "h3" {
			return targetError(s, "%s has no path: remove %q", t, "/"+path)
		}
		t.Path = "/" + path
	}
	for addr := range strings.SplitSeq(addrs, ",") {
		host, port, err := net.SplitHostPort(addr)
		switch {
		case addr == "":
			return targetError(s, "it has no address: write HOST:PORT after ://")
		case err != nil && !strings.Contains(addr, ":"):
			return targetError(s, "the address %q has no port: write %s:PORT", addr, addr)
		case err != nil:
			return targetError(s, "the address %q is not HOST:PORT", addr)
		}
		if _, err := strconv.ParseUint(port, 10, 16); err != nil {
			return targetError(s, "%q is not a port", port)
		}
		t.Addrs = append(t.Addrs, net.JoinHostPort(host, port))
	}
	return nil
}

func (t *Target) parseOptions(s, query string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return targetError(s, "its options are malformed: %v", err)
	}
	for name, vs := range values {
		if len(vs) > 1 {
			return targetError(s, "option %s is given %d times", name, len(vs))
		}
		if t.Options == nil {
			t.Options = map[string]string{}
		}
		t.Options[name] = vs[0]
	}
	if err := t.checkOptions(anySide); err != nil {
		return targetError(s, "%v", err)
	}
	return nil
}

// String writes the target so that ParseTarget reads it back, or ParseShape if
// it has no address.
func (t Target) String() string {
	var b strings.Builder
	b.WriteString(t.Wire)
	i := slices.Index(Wires(), t.Wire)
	if i < 0 || !wires[i].plain || t.Transport != wires[i].transports[0] {
		b.WriteString("+" + t.Transport)
	}
	if t.TLS && t.Transport != "h3" {
		b.WriteString("+tls")
	}
	if len(t.Addrs) > 0 {
		b.WriteString("://" + strings.Join(t.Addrs, ",") + t.Path)
	}
	for i, name := range slices.Sorted(maps.Keys(t.Options)) {
		b.WriteByte("?&"[min(i, 1)])
		b.WriteString(url.QueryEscape(name))
		if v := t.Options[name]; v != "" {
			b.WriteString("=" + url.QueryEscape(v))
		}
	}
	return b.String()
}

// At returns the target with another address.
func (t Target) At(addrs ...string) Target {
	t.Addrs = addrs
	return t
}

func (t *Target) shape() shape { return shape{t.Wire, t.Transport} }

// A TargetError says what is wrong with a target. It is the caller's mistake:
// nothing was tried on the network.
type TargetError struct {
	// Target is the target as it was given.
	Target string
	// Reason says what is wrong and, where that helps, what is known.
	Reason string
}

func (e *TargetError) Error() string { return fmt.Sprintf("target %q: %s", e.Target, e.Reason) }

func targetError(s, format string, args ...any) error {
	return &TargetError{Target: s, Reason: fmt.Sprintf(format, args...)}
}
