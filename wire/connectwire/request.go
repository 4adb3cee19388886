package connectwire

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"strings"

	"connectrpc.com/connect"
	"golang.org/x/net/http/httpguts"
)

// The content types of the protocols. What follows is the name of a codec.
const (
	unaryType     = "application/"
	streamType    = "application/connect+"
	grpcType      = "application/grpc"
	grpcWebType   = "application/grpc-web"
	textType      = "application/grpc-web-text"
	versionHeader = "Connect-Protocol-Version"
)

// IsRequest tells the requests of this wire from those of REST on the same
// port, which has the same methods at the same paths: by Connect's version
// header or the parameter connect=v1 of its GETs, by the content type of its
// streams, of its binary messages, or of gRPC-Web; and the question that a
// browser asks before one of them (a CORS preflight). gRPC's own requests are
// not among them: HTTP/2 gives those to the wire grpc.
//
// Connect lets clients leave the version out of unary calls. Such a POST with
// JSON is a call by REST, to the same method.
func IsRequest(r *http.Request) bool {
	if _, ok := r.Header[versionHeader]; ok {
		return true
	}
	switch r.Method {
	case http.MethodPost:
		typ, _, _ := strings.Cut(r.Header.Get("Content-Type"), ";")
		typ = strings.TrimSpace(typ)
		return hasPrefixFold(typ, streamType) || hasPrefixFold(typ, grpcWebType) || strings.EqualFold(typ, unaryType+"proto")
	case http.MethodGet:
		return strings.Contains(r.URL.RawQuery, "connect=") && r.URL.Query().Get("connect") == "v1"
	case http.MethodOptions:
		asked := r.Header["Access-Control-Request-Headers"]
		return httpguts.HeaderValuesContainsToken(asked, versionHeader) || httpguts.HeaderValuesContainsToken(asked, "X-Grpc-Web")
	}
	return false
}

func hasPrefixFold(s, prefix string) bool {
	return len(s) >= len(prefix) && strings.EqualFold(s[:len(prefix)], prefix)
}

// A kind is the form of a request.
type kind struct {
	protocol  string // connect-go's name of it
	codec     *bytesCodec
	enveloped bool
}

// errMethod and errType are what a request must be told that is no call at
// all.
var errMethod = errors.New("calls are made by POST, or by GET if the method has no side effects")

// kindOf reads the form of a request of a unary or a streaming method. The
// error says why it has none.
func (cs codecs) kindOf(r *http.Request, streaming bool) (kind, error) {
	if r.Method == http.MethodGet {
		name := r.URL.Query().Get("encoding")
		c, ok := cs[name]
		if !ok {
			return kind{}, fmt.Errorf("the parameter encoding is %q: it is one of %s", name, cs)
		}
		return kind{connect.ProtocolConnect, c, false}, nil
	}
	ct := r.Header.Get("Content-Type")
	typ, _, err := mime.ParseMediaType(ct)
	if err != nil {
		return kind{}, fmt.Errorf("the Content-Type %q is malformed", ct)
	}
	k := kind{enveloped: true}
	var name string
	switch {
	case typ == grpcWebType || strings.HasPrefix(typ, grpcWebType+"+"):
		k.protocol, name = connect.ProtocolGRPCWeb, strings.TrimPrefix(strings.TrimPrefix(typ, grpcWebType), "+")
	case typ == grpcType || strings.HasPrefix(typ, grpcType+"+"):
		k.protocol, name = connect.ProtocolGRPC, strings.TrimPrefix(strings.TrimPrefix(typ, grpcType), "+")
	case strings.HasPrefix(typ, streamType):
		k.protocol, name = connect.ProtocolConnect, typ[len(streamType):]
		if !streaming {
			return kind{}, fmt.Errorf("the Content-Type %q is that of a stream, and the method is none", ct)
		}
	default:
		k.protocol, name = connect.ProtocolConnect, strings.TrimPrefix(typ, unaryType)
		k.enveloped = false
		if streaming {
			return kind{}, fmt.Errorf("the method streams: want a Content-Type such as %sproto, not %q", streamType, ct)
		}
	}
	if name == "" && k.protocol != connect.ProtocolConnect {
		name = "proto"
	}
	if k.codec = cs[name]; k.codec == nil {
		return kind{}, fmt.Errorf("the Content-Type %q is of no codec that is known: they are %s", ct, cs)
	}
	return k, nil
}

// A boundedBody is the body of enveloped messages, up to one that is too large.
// connect-go would read that one to its end, which is up to 4 GiB away.
type boundedBody struct {
	io.ReadCloser
	limit int64
	head  [5]byte // of the envelope that is being read
	have  int     // of head
	left  int64   // of its content
}

func (b *boundedBody) Read(p []byte) (int, error) {
	if b.have == len(b.head) && b.left > b.limit {
		return 0, &http.MaxBytesError{Limit: b.limit}
	}
	n, err := b.ReadCloser.Read(p)
	b.follow(p[:n])
	return n, err
}

// follow keeps count of the envelopes in what was read.
func (b *boundedBody) follow(p []byte) {
	for len(p) > 0 {
		if b.have < len(b.head) {
			n := copy(b.head[b.have:], p)
			b.have += n
			p = p[n:]
			if b.have < len(b.head) {
				return
			}
			b.left = int64(binary.BigEndian.Uint32(b.head[1:]))
		}
		if b.left > b.limit {
			return // what has been read of it is thrown away
		}
		n := min(int64(len(p)), b.left)
		b.left -= n
		p = p[n:]
		if b.left == 0 {
			b.have = 0
		}
	}
}

// procedure returns the path of the method that a request calls, below the
// target's own path. "" is none.
func procedure(u *url.URL, prefix string) string {
	path, ok := strings.CutPrefix(u.Path, prefix)
	if !ok {
		return ""
	}
	return path
}

// checkMessage looks whether the message of a GET is base64 where it says so:
// connect-go has no code for one that is not. Padding may be there or not.
func checkMessage(r *http.Request) error {
	if r.Method != http.MethodGet {
		return nil
	}
	q := r.URL.Query()
	if q.Get("base64") != "1" {
		return nil
	}
	message, encoding := q.Get("message"), base64.URLEncoding
	if len(message)%4 != 0 {
		encoding = base64.RawURLEncoding
	}
	if _, err := encoding.DecodeString(message); err != nil {
		return fmt.Errorf("the parameter message: %w", err)
	}
	return nil
}
