package http1

import (
	"net/http"
	"strconv"
	"strings"
	"time"
)

// sniffed is how much of a body its type is guessed from.
const sniffed = 512

var statusLines = func() (lines [600]string) {
	for status := range lines {
		if text := http.StatusText(status); text != "" {
			lines[status] = "HTTP/1.1 " + strconv.Itoa(status) + " " + text + "\r\n"
		}
	}
	return lines
}()

func appendStatusLine(dst []byte, status int) []byte {
	if status < len(statusLines) && statusLines[status] != "" {
		return append(dst, statusLines[status]...)
	}
	dst = append(dst, "HTTP/1.1 "...)
	return append(strconv.AppendInt(dst, int64(status), 10), " \r\n"...)
}

// inform writes an informational response with the fields that are set so far.
// HTTP/1.0 has none (RFC 9110, section 15.2).
func (w *response) inform(status int) {
	if w.x.req.ProtoMinor == 0 {
		return
	}
	if status == http.StatusContinue {
		w.x.body.unasked.Store(false)
	}
	out := appendStatusLine(nil, status)
	for name, values := range w.header {
		if name != "Content-Length" && name != "Transfer-Encoding" {
			out = appendField(out, name, values)
		}
	}
	w.writeOut(append(out, crlf...), time.Now())
	w.begun = false // of the final response nothing has been written
}

// writeHead begins the final head: the status and the handler's fields as they
// are now. What depends on the body is left to endHead.
func (w *response) writeHead(status int) {
	w.status = status
	out := appendStatusLine(w.buf.out, status)
	if lines := w.header["Trailer"]; lines != nil {
		w.declare(lines)
	}
	for name, values := range w.header {
		switch name {
		case "Content-Length":
			// As in net/http a handler may say nonsense: then it says nothing.
			if n, ok := parseLength(trim(strings.Join(values, ","))); ok {
				w.length = n
			}
			continue
		case "Transfer-Encoding":
			continue // is the server's
		case "Connection":
			out = w.connectionField(out, values)
			continue
		case "Trailer":
			continue // see declare
		case "Date":
			w.hasDate = true
		case "Content-Type":
			w.hasType = true
		case "Content-Encoding":
			w.hasType = w.hasType || strings.Join(values, "") != ""
		}
		if strings.HasPrefix(name, http.TrailerPrefix) || w.isTrailer(name) {
			continue
		}
		out = appendField(out, name, values)
	}
	for _, name := range w.trailers {
		out = appendField(out, "Trailer", []string{name})
	}
	w.buf.out = out
}

// declare notes the trailers that a handler announces, if the client takes any.
func (w *response) declare(lines []string) {
	if !w.takesTrailers() {
		return
	}
	for _, line := range lines {
		eachElement(line, func(e string) bool {
			if name := http.CanonicalHeaderKey(e); isToken(name) && mayTrail(name) {
				w.trailers = append(w.trailers, name)
			}
			return true
		})
	}
}

// takesTrailers reports whether the client has said that it takes trailers (RFC
// 9110, section 10.1.4).
func (w *response) takesTrailers() bool { return w.x.framing.trailersOK && w.x.req.ProtoMinor >= 1 }

func (w *response) isTrailer(name string) bool {
	for _, t := range w.trailers {
		if t == name {
			return true
		}
	}
	return false
}

// connectionField appends what a handler says of the connection, but whether it
// persists: that is said by endHead.
func (w *response) connectionField(out []byte, values []string) []byte {
	for _, v := range values {
		eachElement(v, func(e string) bool {
			switch {
			case strings.EqualFold(e, "close"):
				w.closing = true
			case !strings.EqualFold(e, "keep-alive"):
				out = appendField(out, "Connection", []string{e})
			}
			return true
		})
	}
	return out
}

// endHead decides how the body ends, and ends the head. p is what comes behind
// what is held; done is set if nothing comes.
func (w *response) endHead(p []byte, done bool) {
	r := &w.x.req
	isHead := r.Method == http.MethodHead
	out := w.buf.out
	switch {
	case !hasBody(w.status):
		w.end = endNone
		if w.status == http.StatusNotModified && w.length >= 0 {
			out = appendLength(out, w.length) // that of what has not been modified
		}
		if w.status == http.StatusSwitchingProtocols {
			w.closing = true // a handler that does not take the connection over
		}
	case w.length >= 0:
		w.end = endLength
		out = appendLength(out, w.length)
	case done && !w.needsTrailers():
		w.end = endLength
		// Of an answer to HEAD that is empty nobody knows what GET would have.
		if !isHead || w.written > 0 {
			out = appendLength(out, w.written)
		}
	case r.ProtoMinor >= 1:
		w.end = endChunks
		out = append(out, "Transfer-Encoding: chunked\r\n"...)
	default:
		w.end = endClose
		w.closing = w.closing || !isHead
	}
	if w.end != endNone && !w.hasType && len(w.buf.held)+len(p) > 0 {
		out = w.appendGuess(out, p)
	}
	if !w.hasDate {
		out = appendDate(out, time.Now())
	}
	w.closing = w.closing || w.c.srv.closing.Load() || w.x.body.breaksOff()
	switch {
	case w.closing && w.status != http.StatusSwitchingProtocols:
		out = append(out, "Connection: close\r\n"...)
	case r.ProtoMinor == 0:
		out = append(out, "Connection: keep-alive\r\n"...) // it has asked for that
	}
	out = append(out, crlf...)
	w.buf.out = out
}

// appendGuess appends the type that the body looks like, as net/http does.
func (w *response) appendGuess(out, p []byte) []byte {
	begin := w.buf.held
	if len(begin) < sniffed {
		begin = append(begin[:len(begin):len(begin)], p[:min(len(p), sniffed-len(begin))]...)
	}
	return append(append(append(out, "Content-Type: "...), http.DetectContentType(begin)...), crlf...)
}

func appendLength(out []byte, n int64) []byte {
	return append(strconv.AppendInt(append(out, "Content-Length: "...), n, 10), crlf...)
}

// needsTrailers reports whether there are trailers, for which the body must be
// chunked.
func (w *response) needsTrailers() bool {
	if !w.takesTrailers() {
		return false
	}
	if len(w.trailers) > 0 {
		return true
	}
	for name := range w.header {
		if strings.HasPrefix(name, http.TrailerPrefix) {
			return true
		}
	}
	return false
}

// appendTrailers appends the trailer section: the fields that were declared, and
// those with http.TrailerPrefix.
func (w *response) appendTrailers(out []byte) []byte {
	if !w.takesTrailers() {
		return out
	}
	for _, name := range w.trailers {
		out = appendField(out, name, w.header[name])
	}
	for name, values := range w.header {
		if name, ok := strings.CutPrefix(name, http.TrailerPrefix); ok && mayTrail(http.CanonicalHeaderKey(name)) {
			out = appendField(out, name, values)
		}
	}
	return out
}

// appendField appends a field's lines. A name that is none is left out, and a
// control character in a value, which could end the line, becomes a space.
func appendField(dst []byte, name string, values []string) []byte {
	if !isToken(name) {
		return dst
	}
	for _, v := range values {
		dst = append(append(append(dst, name...), ": "...), v...)
		for i := len(dst) - len(v); i < len(dst); i++ {
			if classes[dst[i]]&valueByte == 0 {
				dst[i] = ' '
			}
		}
		dst = append(dst, crlf...)
	}
	return dst
}
