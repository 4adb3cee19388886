package jsonrpc

import (
	"encoding/base64"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"

	"github.com/everywire/everywire/wire/internal/rpc"
)

const binSuffix = "-bin"

// appendMeta appends metadata as an object of lists, sorted by key.
func appendMeta(dst []byte, md metadata.MD) []byte {
	dst = append(dst, '{')
	first := true
	for _, k := range slices.Sorted(maps.Keys(md)) {
		if len(md[k]) == 0 {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendQuoted(dst, k)
		sep := byte('[')
		dst = append(dst, ':')
		for _, v := range md[k] {
			dst = append(dst, sep)
			sep = ','
			if strings.HasSuffix(k, binSuffix) {
				dst = append(dst, '"')
				dst = base64.RawStdEncoding.AppendEncode(dst, []byte(v))
				dst = append(dst, '"')
			} else {
				dst = appendQuoted(dst, v)
			}
		}
		dst = append(dst, ']')
	}
	return append(dst, '}')
}

// says reports whether there is any value in md.
func says(md metadata.MD) bool {
	for _, vs := range md {
		if len(vs) > 0 {
			return true
		}
	}
	return false
}

// parseMeta is the inverse of appendMeta. raw is known to be JSON.
func parseMeta(raw []byte) (metadata.MD, error) {
	s := scanner{data: raw}
	if s.peek() != '{' {
		return nil, fmt.Errorf("must be an object, not %s", excerpt(raw))
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	md := metadata.MD{}
	for first := true; ; first = false {
		quoted, ok, err := s.member(first)
		if err != nil {
			return nil, err
		}
		if !ok {
			return md, rpc.ValidateMetadata(md)
		}
		name, err := unquote(quoted)
		if err != nil {
			return nil, err
		}
		key := strings.ToLower(string(name))
		if _, seen := md[key]; seen {
			return nil, fmt.Errorf("key %q appears twice", key)
		}
		if md[key], err = metaValues(&s, key); err != nil {
			return nil, err
		}
	}
}

func metaValues(s *scanner, key string) ([]string, error) {
	if s.peek() != '[' {
		return nil, fmt.Errorf("key %q: want an array of strings", key)
	}
	if err := s.enter(); err != nil {
		return nil, err
	}
	vs := []string{}
	for {
		if ok, err := s.element(len(vs) == 0); err != nil || !ok {
			return vs, err
		}
		v, err := metaValue(s, key)
		if err != nil {
			return nil, err
		}
		vs = append(vs, v)
	}
}

func metaValue(s *scanner, key string) (string, error) {
	if s.peek() != '"' {
		return "", fmt.Errorf("key %q: want an array of strings", key)
	}
	quoted, err := s.str()
	if err != nil {
		return "", err
	}
	v, err := unquote(quoted)
	if err != nil || !strings.HasSuffix(key, binSuffix) {
		return string(v), err
	}
	b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(string(v), "="))
	if err != nil {
		return "", fmt.Errorf("key %q: value is not base64: %w", key, err)
	}
	return string(b), nil
}

// appendReplyMeta appends the meta member of a reply, if there is anything to
// tell.
func appendReplyMeta(dst []byte, header, trailer metadata.MD) []byte {
	sep := `,"meta":{`
	for _, part := range []struct {
		name string
		md   metadata.MD
	}{{`"header":`, header}, {`"trailer":`, trailer}} {
		if says(part.md) {
			dst = append(dst, sep...)
			dst = append(dst, part.name...)
			dst = appendMeta(dst, part.md)
			sep = ","
		}
	}
	if sep == "," {
		dst = append(dst, '}')
	}
	return dst
}

// parseReplyMeta is the inverse of appendReplyMeta, for the value of meta.
func parseReplyMeta(raw []byte) (header, trailer metadata.MD, err error) {
	s := scanner{data: raw}
	if s.peek() != '{' {
		return nil, nil, fmt.Errorf("must be an object, not %s", excerpt(raw))
	}
	if err := s.enter(); err != nil {
		return nil, nil, err
	}
	for first := true; ; first = false {
		quoted, ok, err := s.member(first)
		if err != nil || !ok {
			return header, trailer, err
		}
		v, err := s.value()
		if err != nil {
			return nil, nil, err
		}
		switch string(quoted) {
		case `"header"`:
			header, err = parseMeta(v)
		case `"trailer"`:
			trailer, err = parseMeta(v)
		}
		if err != nil {
			return nil, nil, err
		}
	}
}

// timeoutMS is a timeout in milliseconds, rounded up so that the server does
// not give up before the client; 0 if it has passed.
func timeoutMS(d time.Duration) int64 {
	if d <= 0 {
		return 0
	}
	return int64((d-1)/time.Millisecond) + 1
}

// parseTimeout reads the timeout_ms member. Zero and less have passed, which is
// a negative duration; what is too long for a duration is the longest one.
func parseTimeout(raw []byte) (time.Duration, error) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	switch {
	case err != nil && !errors.Is(err, strconv.ErrRange): // out of range, n is the end of it
		return 0, fmt.Errorf("must be an integer, not %s", excerpt(raw))
	case n <= 0:
		return -1, nil
	case n > math.MaxInt64/int64(time.Millisecond):
		return math.MaxInt64, nil
	}
	return time.Duration(n) * time.Millisecond, nil
}
