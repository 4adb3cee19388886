package http1

import (
	"bytes"
	"net/http"
	"strings"
)

// http2Preface is how a connection of HTTP/2 begins that needs no negotiation
// (RFC 9113, section 3.4), up to the empty line, which makes it look like a head.
const http2Preface = "PRI * HTTP/2.0\r\n\r\n"

// maxFields is how many fields a head, or a trailer section, may have.
const maxFields = 1000

// A headScan looks for the end of a head as it comes in, each byte once.
type headScan struct {
	line int // where the current line begins
	at   int // where to look on
}

// end returns the length of the head that data begins with, the empty line at
// its end included, or 0 if that has not come.
func (s *headScan) end(data []byte) (int, error) {
	if s.at == 0 && len(data) > 0 && classes[data[0]]&tokenByte == 0 {
		return 0, malformed("this is no request of HTTP/1: it begins with %s", show(string(data[:1])))
	}
	for {
		i := bytes.IndexByte(data[s.at:], '\n')
		if i < 0 {
			s.at = len(data)
			return 0, nil
		}
		lf := s.at + i
		if lf == s.line || data[lf-1] != '\r' {
			return 0, malformed("a line of the head ends without a carriage return")
		}
		s.at = lf + 1
		if lf-1 == s.line {
			return s.at, nil
		}
		s.line = s.at
	}
}

// nextLine splits off a line that ends in CRLF.
func nextLine(s string) (line, rest string) {
	i := strings.IndexByte(s, '\n')
	return s[:i-1], s[i+1:]
}

// parseHead reads a head, without the empty line at its end, into x. Whatever it
// accepts, net/http reads in the same way. It refuses:
//
//   - lines that end in a bare LF, and bare CR;
//   - names of fields that are no tokens, also by a space before the colon;
//   - folded lines, and any other line that begins with white space;
//   - control characters in values;
//   - anything but one space between the parts of the first line;
//   - of HTTP/1.1 a request without exactly one Host, of 1.0 with several.
//
// What it does with the lengths of bodies is in framing.go.
func (x *exchange) parseHead(head string) *refusal {
	line, rest := nextLine(head)
	if err := x.parseRequestLine(line); err != nil {
		return err
	}
	count := strings.Count(rest, "\n")
	if count > maxFields {
		return refuse(http.StatusRequestHeaderFieldsTooLarge, "the head has %d fields, and the limit is %d", count, maxFields)
	}
	header := make(http.Header, count)
	values := x.values[:]
	if count > len(values) {
		values = make([]string, count)
	}
	x.req.Header = header
	for rest != "" {
		line, rest = nextLine(rest)
		name, value, err := parseField(line)
		if err != nil {
			return err
		}
		if handled := x.framing.field(name, value); handled {
			continue
		}
		if same, ok := header[name]; ok {
			header[name] = append(same, value)
			continue
		}
		values[0] = value
		header[name], values = values[:1:1], values[1:]
	}
	return nil
}

// parseRequestLine reads the first line (RFC 9112, section 3).
func (x *exchange) parseRequestLine(line string) *refusal {
	r := &x.req
	method, rest, ok := strings.Cut(line, " ")
	target, version, ok2 := strings.Cut(rest, " ")
	if !ok || !ok2 || !isToken(method) || target == "" {
		return malformed("the first line is not a method, a target and a version with one space between: %s", show(line))
	}
	if strings.HasPrefix(version, "HTTP/1.") && len(version) == len("HTTP/1.1") && isDigit(version[7]) {
		r.ProtoMajor, r.ProtoMinor = 1, int(version[7]-'0')
	} else if len(version) == len("HTTP/1.1") && version[:5] == "HTTP/" && isDigit(version[5]) && version[6] == '.' && isDigit(version[7]) {
		return refuse(http.StatusHTTPVersionNotSupported, "the version %s is not spoken here, HTTP/1.1 is", version)
	} else {
		return malformed("the first line does not end in a version of HTTP: %s", show(line))
	}
	r.Method, r.RequestURI, r.Proto = method, target, version
	return x.parseTarget(method, target)
}

func isDigit(b byte) bool { return b >= '0' && b <= '9' }
