package connectwire

import (
	"bytes"
	"encoding/base64"
	"errors"
	"io"
	"net/http"
	"strings"
)

// The text form of gRPC-Web is the binary one in base64, for browsers whose
// XMLHttpRequest gives a page nothing but text while a reply comes in
// (PROTOCOL-WEB.md, "Protocol differences vs gRPC over HTTP2"). connect-go does
// not have it, so this is around it: what that sees and writes is the binary
// form.

// isText reports whether a request is in the text form. So is then its reply.
func isText(r *http.Request) bool {
	return r.Method == http.MethodPost && hasPrefixFold(r.Header.Get("Content-Type"), textType)
}

// binaryRequest is a request of the text form in the binary one.
func binaryRequest(r *http.Request) *http.Request {
	binary := r.Clone(r.Context())
	binary.Header.Set("Content-Type", grpcWebType+r.Header.Get("Content-Type")[len(textType):])
	binary.Body = &textReader{body: r.Body}
	binary.ContentLength = -1
	return binary
}

var errBase64 = errors.New("the body is not base64")

// A textReader decodes base64. A sender may encode each of its messages by
// itself, so that padding is not always the end.
type textReader struct {
	body io.ReadCloser
	err  error

	text [4 << 10]byte
	have int // of text; less than a group of four between reads
	bin  [3 << 10]byte
	out  []byte // what of bin has not been read
}

func (t *textReader) Read(p []byte) (int, error) {
	for len(t.out) == 0 {
		if t.err != nil {
			return 0, t.err
		}
		t.fill()
	}
	n := copy(p, t.out)
	t.out = t.out[n:]
	return n, nil
}

func (t *textReader) fill() {
	n, err := t.body.Read(t.text[t.have:])
	t.have += n
	groups := t.have &^ 3
	var ok bool
	if t.out, ok = decodeText(t.bin[:0], t.text[:groups]); !ok {
		t.err = errBase64
		return
	}
	t.have = copy(t.text[:], t.text[groups:t.have])
	if t.err = err; err == io.EOF && t.have > 0 {
		t.err = errBase64
	}
}

// decodeText appends what whole groups of four stand for.
func decodeText(dst, text []byte) ([]byte, bool) {
	for len(text) > 0 {
		end := len(text)
		if i := bytes.IndexByte(text, '='); i >= 0 {
			end = i/4*4 + 4
		}
		at := len(dst)
		var err error
		if dst, err = base64.StdEncoding.AppendDecode(dst, text[:end]); err != nil || (len(dst)-at+2)/3 != end/4 {
			return dst, false
		}
		text = text[end:]
	}
	return dst, true
}

func (t *textReader) Close() error { return t.body.Close() }

// A textWriter encodes what is written between two flushes in base64: a message
// or more of them, each time with padding of its own.
type textWriter struct {
	http.ResponseWriter
	pending []byte
	text    []byte
	headed  bool
}

// Unwrap is for http.ResponseController.
func (w *textWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (w *textWriter) WriteHeader(status int) {
	h := w.Header()
	if ct, ok := strings.CutPrefix(h.Get("Content-Type"), grpcWebType); ok {
		h.Set("Content-Type", textType+ct)
	}
	w.headed = true
	w.ResponseWriter.WriteHeader(status)
}

func (w *textWriter) Write(p []byte) (int, error) {
	if !w.headed {
		w.WriteHeader(http.StatusOK)
	}
	w.pending = append(w.pending, p...)
	return len(p), nil
}

// Flush is a part of http.Flusher. connect-go calls it after each message.
func (w *textWriter) Flush() {
	w.end()
	_ = http.NewResponseController(w.ResponseWriter).Flush() // fails only if the client is gone
}

// end writes what is pending.
func (w *textWriter) end() {
	if !w.headed {
		w.WriteHeader(http.StatusOK)
	}
	if len(w.pending) == 0 {
		return
	}
	w.text = base64.StdEncoding.AppendEncode(w.text[:0], w.pending)
	w.pending = w.pending[:0]
	_, _ = w.ResponseWriter.Write(w.text) // as above; the request's context ends too
}
