package rest

import (
	"bytes"
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"hash"
	"net/http"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/wire/internal/rpc"
)

// Idempotency-Key, draft-ietf-httpapi-idempotency-key-header-07: a client that
// does not know whether a call has run sends it again with the same key, and
// gets the first one's answer.

const (
	keyHeader      = "Idempotency-Key"
	replayedHeader = "Idempotency-Replayed"
	maxKey         = 255
)

// identities are the headers that tell clients apart, beside their
// certificates.
var identities = [...]string{"Authorization", "Cookie", "Proxy-Authorization", "X-Api-Key"}

// claim looks up the request's key. Without one, or for a method that may run
// twice by what it says, there is no entry and no refusal.
func (h *handler) claim(x *exchange, r *http.Request) (*entry, claim, *refusal) {
	lines := r.Header[keyHeader]
	if len(lines) == 0 || x.err != nil || x.in.Method.Idempotency != everywire.IdempotencyUnknown ||
		r.Method == http.MethodGet || r.Method == http.MethodHead {
		return nil, fresh, nil
	}
	key, err := parseKey(lines)
	if err != nil {
		return nil, 0, refuse(http.StatusBadRequest, codes.InvalidArgument, "%s: %v", keyHeader, err)
	}
	a, c := h.ledger.claim(x.nameOf(key, r.Header), x.fingerprint())
	switch c {
	case running:
		return nil, c, refuse(http.StatusConflict, codes.Aborted, "%s: the first request with this key still runs", keyHeader)
	case reused:
		return nil, c, refuse(http.StatusUnprocessableEntity, codes.InvalidArgument, "%s: this key was that of another request", keyHeader)
	case full:
		return nil, c, refuse(http.StatusTooManyRequests, codes.ResourceExhausted, "%s: too many requests with keys run", keyHeader)
	}
	return a, c, nil
}

// parseKey returns the key that a header names: a string of RFC 8941, section
// 3.3.3, or the same without quotes, as many clients write it.
func parseKey(lines []string) (string, error) {
	if len(lines) > 1 {
		return "", errors.New("there is more than one")
	}
	s := strings.Trim(lines[0], " \t")
	quoted := strings.HasPrefix(s, `"`)
	var key []byte
	if quoted {
		if s = s[1:]; !strings.HasSuffix(s, `"`) {
			return "", errors.New("the string has no end")
		}
		s = s[:len(s)-1]
	}
	for i := 0; i < len(s); i++ {
		c := s[i]
		if quoted && c == '\\' {
			if i++; i == len(s) || s[i] != '"' && s[i] != '\\' {
				return "", errors.New("a backslash that escapes neither quote nor backslash")
			}
			key = append(key, s[i])
			continue
		}
		if c < ' ' || c >= 0x7f || c == '"' || !quoted && (c == ' ' || c == ',' || c == ';' || c == '\\') {
			return "", errors.New("it is not a string of printable ASCII")
		}
		key = append(key, c)
	}
	if len(key) == 0 || len(key) > maxKey {
		return "", errors.New("its length is not from 1 to 255")
	}
	return string(key), nil
}

// nameOf names a key of a client. Clients of different identity have different
// names for the same key, and never see each other's answers.
func (x *exchange) nameOf(key string, header http.Header) digest {
	d := sha256.New()
	writePart(d, []byte(key))
	for _, name := range identities {
		lines := header[name]
		writeLength(d, len(lines))
		for _, line := range lines {
			writePart(d, []byte(line))
		}
	}
	if info, ok := x.in.Peer.AuthInfo.(credentials.TLSInfo); ok && len(info.State.PeerCertificates) > 0 {
		writePart(d, info.State.PeerCertificates[0].Raw)
	}
	return digest(d.Sum(nil))
}

// fingerprint is equal for equal requests: the route, the message, however it
// was put together, and the format of the reply.
func (x *exchange) fingerprint() digest {
	d := sha256.New()
	for _, s := range []string{x.endpoint.verb, x.endpoint.pattern, x.in.Method.Path(), x.bodyFormat.mediaType, x.format.mediaType} {
		writePart(d, []byte(s))
	}
	writePart(d, x.message)
	return digest(d.Sum(nil))
}

// writePart writes p so that it cannot be taken for another division of the
// same bytes.
func writePart(d hash.Hash, p []byte) {
	writeLength(d, len(p))
	_, _ = d.Write(p) // a hash does not fail
}

func writeLength(d hash.Hash, n int) {
	_, _ = d.Write(binary.LittleEndian.AppendUint64(nil, uint64(n))) // a hash does not fail
}

// keep remembers the call's result, unless the call may as well run again.
func (x *exchange) keep(a *entry) {
	s := x.outcome.Status
	if !settled(s.Code()) {
		return
	}
	r := x.result
	size := answerOverhead + len(r.body) + proto.Size(s.Proto()) + rpc.SizeOf(r.outcome.Header) + rpc.SizeOf(r.outcome.Trailer)
	if size > maxAnswer {
		return
	}
	r.body = bytes.Clone(r.body)
	a.keep(r, size)
}

// settled reports whether a call that ended so has run to an end that the next
// attempt must not change. The other codes say that it did not run, or that it
// is to be tried again, or the same each time.
func settled(c codes.Code) bool {
	switch c {
	case codes.Canceled, codes.DeadlineExceeded, codes.Unavailable, codes.Aborted, codes.ResourceExhausted,
		codes.Unauthenticated, codes.PermissionDenied, codes.InvalidArgument, codes.Unimplemented:
		return false
	}
	return true
}
