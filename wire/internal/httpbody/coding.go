package httpbody

import (
	"fmt"
	"strings"
)

// A Coding is a content coding.
type Coding uint8

// The codings, in the order in which a server that may choose prefers them:
// the later the better. zstd costs the least time for what it saves.
const (
	Identity Coding = iota
	Gzip
	Brotli
	Zstd
)

// names are the codings' names in HTTP's registry.
var names = [...]string{Identity: "identity", Gzip: "gzip", Brotli: "br", Zstd: "zstd"}

// Supported is the value of an Accept-Encoding header that names every coding.
const Supported = "zstd, br, gzip"

// String returns the coding's name in headers.
func (c Coding) String() string { return names[c] }

// Header returns the coding as the values of a header, which nobody may
// change.
func (c Coding) Header() []string { return headers[c] }

var headers = [...][]string{Identity: {"identity"}, Gzip: {"gzip"}, Brotli: {"br"}, Zstd: {"zstd"}}

// ParseCoding returns the coding that a header calls name. x-gzip is gzip
// (RFC 9110, section 8.4.1.3).
func ParseCoding(name string) (Coding, bool) {
	for c, n := range names {
		if strings.EqualFold(name, n) {
			return Coding(c), true
		}
	}
	return Gzip, strings.EqualFold(name, "x-gzip")
}

// Encoded returns the coding that the lines of a Content-Encoding header name.
// A body that was coded more than once is not supported: nobody sends one, and
// each layer would multiply what a few bytes can become.
func Encoded(lines []string) (Coding, error) {
	coding := Identity
	for _, line := range lines {
		for name := range strings.SplitSeq(line, ",") {
			name = strings.TrimSpace(name)
			if name == "" || strings.EqualFold(name, "identity") {
				continue
			}
			c, ok := ParseCoding(name)
			if !ok {
				return Identity, fmt.Errorf("content coding %q is not supported: use one of %s", name, Supported)
			}
			if coding != Identity {
				return Identity, fmt.Errorf("more than one content coding: %s and %s", coding, c)
			}
			coding = c
		}
	}
	return coding, nil
}

// A Preference is what a client wants of the codings of replies.
type Preference struct {
	// Coding is the best one, Identity if the client likes none better.
	Coding Coding
	// NotIdentity is set if the client refuses Identity. If that is the Coding,
	// nothing is acceptable.
	NotIdentity bool
}

// Accepted reads the lines of an Accept-Encoding header (RFC 9110, section
// 12.5.3). Of the codings with the greatest weight the best is the one that the
// server prefers.
func Accepted(lines []string) (p Preference) {
	if len(lines) == 0 {
		return p
	}
	var weights [len(names)]int
	var said [len(names)]bool
	others := -1 // the weight of *
	for _, line := range lines {
		for item := range strings.SplitSeq(line, ",") {
			name, params, _ := strings.Cut(item, ";")
			if name = strings.TrimSpace(name); name == "*" {
				others = Weight(params)
			} else if c, ok := ParseCoding(name); ok {
				weights[c], said[c] = Weight(params), true
			}
		}
	}
	for c := range weights {
		if !said[c] && others >= 0 {
			weights[c], said[c] = others, true
		}
	}
	p.NotIdentity = said[Identity] && weights[Identity] == 0
	for c := Gzip; c <= Zstd; c++ {
		if weights[c] > 0 && weights[c] >= weights[p.Coding] {
			p.Coding = c
		}
	}
	return p
}

// Refuses reports whether the client accepts nothing at all.
func (p Preference) Refuses() bool { return p.Coding == Identity && p.NotIdentity }

// Encode appends the body to dst in the preferred coding, if that is worth it
// or nothing else is accepted.
func (p Preference) Encode(dst, body []byte) (coded []byte, ok bool) {
	if p.Coding == Identity || len(body) < MinSize && !p.NotIdentity {
		return dst, false
	}
	start := len(dst)
	coded = p.Coding.Append(dst, body)
	return coded, len(coded)-start < len(body) || p.NotIdentity
}

// Weight returns the q parameter among params, in thousandths; without one, or
// with one that is malformed, it is 1000 (RFC 9110, section 12.4.2).
func Weight(params string) int {
	for p := range strings.SplitSeq(params, ";") {
		name, value, _ := strings.Cut(p, "=")
		if strings.EqualFold(strings.TrimSpace(name), "q") {
			return weight(strings.TrimSpace(value))
		}
	}
	return 1000
}

func weight(s string) int {
	whole, fraction, _ := strings.Cut(s, ".")
	if whole != "0" || len(fraction) > 3 {
		return 1000
	}
	w := 0
	for i := range 3 {
		w *= 10
		if i >= len(fraction) {
			continue
		}
		if fraction[i] < '0' || fraction[i] > '9' {
			return 1000
		}
		w += int(fraction[i] - '0')
	}
	return w
}
