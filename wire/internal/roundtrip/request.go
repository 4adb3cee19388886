package roundtrip

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/net/http/httpguts"
)

// A Body is a request's body that is not copied. Its bytes may be changed again
// when [Transport.RoundTrip] has failed, or the response's body has been read to
// its end or closed.
type Body struct {
	bytes.Reader
	all []byte
}

// Bytes returns a body.
func Bytes(b []byte) *Body {
	body := new(Body)
	body.Set(b)
	return body
}

// Set makes b the body, unread.
func (b *Body) Set(all []byte) {
	b.all = all
	b.Reset(all)
}

// Close does nothing.
func (*Body) Close() error { return nil }

// Detach gives a request whose body is a [Body] a copy, for others' transports:
// they may read it after the response, and again.
func Detach(r *http.Request) {
	b, ok := r.Body.(*Body)
	if !ok {
		return
	}
	all := bytes.Clone(b.all)
	r.GetBody = func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(all)), nil }
	r.Body = io.NopCloser(bytes.NewReader(all))
}

// readBody returns the whole body, nil for none.
func readBody(r *http.Request) ([]byte, error) {
	if r.Body == nil {
		return nil, nil
	}
	if b, ok := r.Body.(*Body); ok && int64(len(b.all)) == r.ContentLength {
		return b.all, nil
	}
	defer func() { _ = r.Body.Close() }() // it has been read
	if r.ContentLength < 0 || len(r.TransferEncoding) > 0 {
		return nil, errors.New("the request's length is not known")
	}
	body := make([]byte, r.ContentLength)
	if _, err := io.ReadFull(r.Body, body); err != nil {
		return nil, fmt.Errorf("reading the request's body: %w", err)
	}
	return body, nil
}

// appendHead appends the request line and the header fields (RFC 9112, sections
// 3 and 5).
func appendHead(dst []byte, r *http.Request, length int, closing bool) ([]byte, error) {
	target := r.URL.RequestURI()
	host := r.Host
	if host == "" {
		host = r.URL.Host
	}
	if !isToken(r.Method) || strings.ContainsFunc(target, isControlOrSpace) || !httpguts.ValidHostHeader(host) {
		return dst, fmt.Errorf("the request %q %q to %q cannot be written", r.Method, target, host)
	}
	dst = append(append(append(dst, r.Method...), ' '), target...)
	dst = append(append(dst, " HTTP/1.1\r\nHost: "...), host...)
	dst = append(dst, "\r\n"...)
	if length > 0 || r.Body != nil && r.Method != http.MethodGet && r.Method != http.MethodHead {
		dst = append(dst, "Content-Length: "...)
		dst = append(strconv.AppendInt(dst, int64(length), 10), "\r\n"...)
	}
	var some [16]string
	names := some[:0]
	for name := range r.Header {
		names = append(names, name)
	}
	slices.Sort(names) // the same request is the same bytes
	for _, name := range names {
		values := r.Header[name]
		switch name {
		case "Host", "Content-Length", "Transfer-Encoding", "Connection", "Trailer":
			continue // they are this package's
		case "User-Agent":
			if len(values) == 1 && values[0] == "" {
				continue // as in net/http, a way to send none
			}
		}
		if !isToken(name) {
			return dst, fmt.Errorf("the header name %q is malformed", name)
		}
		for _, v := range values {
			if !httpguts.ValidHeaderFieldValue(v) {
				return dst, fmt.Errorf("the value of the header %s has a control character", name)
			}
			dst = append(append(dst, name...), ": "...)
			dst = append(append(dst, v...), "\r\n"...)
		}
	}
	if closing {
		dst = append(dst, "Connection: close\r\n"...)
	}
	return append(dst, "\r\n"...), nil
}

func isToken(s string) bool {
	for i := range len(s) {
		if !httpguts.IsTokenRune(rune(s[i])) {
			return false
		}
	}
	return s != ""
}

func isControlOrSpace(r rune) bool { return r <= ' ' || r == 0x7f }
