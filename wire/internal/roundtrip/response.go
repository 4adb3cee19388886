package roundtrip

import (
	"bytes"
	"errors"
	"fmt"
	"net/http"
	"net/textproto"
	"strconv"
	"strings"
)

var errTooLong = errors.New("the head of the response is longer than the limit")

// readHead reads up to the empty line after the header fields, which is part of
// what it returns. Interim responses are skipped (RFC 9110, section 15.2).
func (c *conn) readHead() (string, error) {
	for {
		end, err := c.endOfHead()
		if err != nil {
			return "", err
		}
		head := string(c.in[c.r : c.r+end])
		c.r += end
		if code := statusOf(head); code >= 200 || code == http.StatusSwitchingProtocols {
			return head, nil
		}
	}
}

// endOfHead waits for a whole head and returns its length.
func (c *conn) endOfHead() (int, error) {
	seen := 0 // what has no end in it, but for a line's end at its own end
	for {
		if end := headLength(c.in[c.r:c.w], seen); end > 0 {
			return end, nil
		}
		seen = max(0, c.w-c.r-3)
		if c.w-c.r > c.transport.MaxHead {
			return 0, errTooLong
		}
		before := c.w - c.r
		if err := c.fill(c.transport.MaxHead + smallBuffer); err != nil {
			if before == 0 {
				return 0, err
			}
			return 0, fmt.Errorf("within the head of the response: %w", err)
		}
	}
}

// headLength returns the length of the head that b begins with, 0 if its end is
// not there. Its end is not before b[from:].
func headLength(b []byte, from int) int {
	for i := from; ; {
		n := bytes.IndexByte(b[i:], '\n')
		if n < 0 {
			return 0
		}
		i += n + 1
		switch rest := b[i:]; {
		case len(rest) > 0 && rest[0] == '\n':
			return i + 1
		case len(rest) > 1 && rest[0] == '\r' && rest[1] == '\n':
			return i + 2
		}
	}
}

// statusOf returns the number of a status line, 0 if it is none, which is found
// out later.
func statusOf(head string) int {
	if len(head) < len("HTTP/1.1 200") || !strings.HasPrefix(head, "HTTP/1.") {
		return http.StatusOK
	}
	code, err := strconv.Atoi(head[9:12])
	if err != nil {
		return http.StatusOK
	}
	return code
}

// parseHead reads a head into a response.
func parseHead(head string) (*http.Response, error) {
	line, rest := cutLine(head)
	res, err := parseStatusLine(line)
	if err != nil {
		return nil, err
	}
	res.Header, err = parseFields(rest)
	return res, err
}

// parseStatusLine reads HTTP/1.1 SP code SP reason (RFC 9112, section 4).
func parseStatusLine(line string) (*http.Response, error) {
	malformed := func() (*http.Response, error) {
		return nil, fmt.Errorf("the response begins with %.40q, which is not HTTP/1.1", line)
	}
	if len(line) < len("HTTP/1.1 200") || !strings.HasPrefix(line, "HTTP/1.") || line[8] != ' ' || len(line) > 12 && line[12] != ' ' {
		return malformed()
	}
	minor, code := line[7]-'0', 0
	if minor > 1 {
		return malformed()
	}
	for _, d := range []byte(line[9:12]) {
		if d < '0' || d > '9' {
			return malformed()
		}
		code = 10*code + int(d-'0')
	}
	if code < 100 {
		return malformed()
	}
	return &http.Response{
		Status: line[9:], StatusCode: code,
		Proto: line[:8], ProtoMajor: 1, ProtoMinor: int(minor),
	}, nil
}

// parseFields reads header or trailer lines up to the empty one.
func parseFields(text string) (http.Header, error) {
	n := strings.Count(text, "\n")
	header := make(http.Header, n)
	values := make([]string, 0, n) // of all fields, in one allocation
	for {
		var line string
		if line, text = cutField(text); line == "" {
			return header, nil
		}
		name, value, ok := strings.Cut(line, ":")
		if !ok || !isToken(name) {
			return nil, fmt.Errorf("the header line %.40q is malformed", line)
		}
		value = strings.Trim(value, " \t")
		if strings.ContainsAny(value, "\x00\r") {
			return nil, fmt.Errorf("the value of the header %s has a control character", name)
		}
		name = textproto.CanonicalMIMEHeaderKey(name)
		if vs := header[name]; vs != nil {
			header[name] = append(vs, value)
			continue
		}
		values = append(values, value)
		header[name] = values[len(values)-1 : len(values) : len(values)]
	}
}

// cutField is cutLine for a header line and those that continue it, which it
// joins with spaces.
func cutField(text string) (line, rest string) {
	line, rest = cutLine(text)
	if line == "" || !isFolded(rest) {
		return line, rest
	}
	var whole strings.Builder
	whole.WriteString(line)
	for isFolded(rest) {
		line, rest = cutLine(rest)
		whole.WriteByte(' ')
		whole.WriteString(strings.Trim(line, " \t"))
	}
	return whole.String(), rest
}

func isFolded(text string) bool { return text != "" && (text[0] == ' ' || text[0] == '\t') }

// cutLine returns the first line without its end, and what follows.
func cutLine(text string) (line, rest string) {
	line, rest, _ = strings.Cut(text, "\n")
	return strings.TrimSuffix(line, "\r"), rest
}
