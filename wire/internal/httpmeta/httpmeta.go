// Package httpmeta carries gRPC metadata and deadlines in HTTP/1.1 headers,
// for the wires on HTTP. docs/spec/rest.md is the rule: metadata is headers,
// trailers of a unary call are headers that begin with "Trailer-", keys ending
// in -bin are base64, the deadline is Grpc-Timeout.
package httpmeta

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"google.golang.org/grpc/metadata"
)

// TrailerPrefix begins the header names that carry trailers.
const TrailerPrefix = "Trailer-"

// TimeoutHeader carries the deadline, in the format of gRPC over HTTP/2.
const TimeoutHeader = "Grpc-Timeout"

// reserved headers belong to HTTP or to the wire; metadata cannot set them,
// as in gRPC, and the ones in hidden are not metadata when they come in.
var reserved = map[string]bool{
	"accept": true, "accept-encoding": true, "connection": true, "content-encoding": true,
	"content-length": true, "content-type": true, "date": true, "expect": true,
	"grpc-timeout": true, "host": true, "keep-alive": true, "proxy-connection": true, "te": true,
	"trailer": true, "transfer-encoding": true, "upgrade": true, "user-agent": true,
}

// hidden is reserved without user-agent, which gRPC handlers do see, and with
// vary, which caches do.
func hidden(key string) bool { return reserved[key] && key != "user-agent" || key == "vary" }

// Bounded returns a limit on metadata that can be multiplied for what HTTP adds
// to it, for a limit that stands for none may be the largest int.
func Bounded(maxMetadata int) int { return min(maxMetadata, 1<<28) }

// Put adds metadata to h with each name prefixed.
func Put(h http.Header, prefix string, md metadata.MD) {
	for k, vs := range md {
		if k == "" || k[0] == ':' || prefix == "" && (reserved[k] || strings.HasPrefix(k, "trailer-")) {
			continue
		}
		name := http.CanonicalHeaderKey(prefix + k)
		for _, v := range vs {
			if strings.HasSuffix(k, "-bin") {
				v = base64.RawStdEncoding.EncodeToString([]byte(v))
			}
			h[name] = append(h[name], v)
		}
	}
}

// Take splits headers into metadata and trailers. Values are shared with h,
// which must not change. An error names the header whose value is not base64.
func Take(h http.Header) (header, trailer metadata.MD, err error) {
	header = make(metadata.MD, len(h))
	for name, vs := range h {
		key, into := lower(name), &header
		if rest, ok := strings.CutPrefix(key, "trailer-"); ok {
			if rest == "" {
				continue
			}
			if trailer == nil {
				trailer = metadata.MD{}
			}
			key, into = rest, &trailer
		} else if hidden(key) {
			continue
		}
		if strings.HasSuffix(key, "-bin") {
			if vs, err = decodeAll(vs); err != nil {
				return nil, nil, fmt.Errorf("header %s is not base64: %w", name, err)
			}
		}
		(*into)[key] = vs[:len(vs):len(vs)]
	}
	return header, trailer, nil
}

// lower is strings.ToLower without an allocation for what most requests have.
func lower(name string) string {
	switch name {
	case "Accept":
		return "accept"
	case "Authorization":
		return "authorization"
	case "Content-Length":
		return "content-length"
	case "Content-Type":
		return "content-type"
	case "Date":
		return "date"
	case TimeoutHeader:
		return "grpc-timeout"
	case "User-Agent":
		return "user-agent"
	}
	return strings.ToLower(name)
}

// decodeAll decodes base64, padded or not; a line may hold several values with
// commas between, as proxies fold them.
func decodeAll(lines []string) ([]string, error) {
	var out []string
	for _, line := range lines {
		for v := range strings.SplitSeq(line, ",") {
			b, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(strings.TrimSpace(v), "="))
			if err != nil {
				return nil, err
			}
			out = append(out, string(b))
		}
	}
	return out, nil
}

var units = []struct {
	suffix byte
	d      time.Duration
}{
	{'n', time.Nanosecond},
	{'u', time.Microsecond},
	{'m', time.Millisecond},
	{'S', time.Second},
	{'M', time.Minute},
	{'H', time.Hour},
}

// maxTimeout is the most that a value of eight digits can say.
const maxTimeout = 99999999

// FormatTimeout writes a timeout with the finest unit that fits in eight
// digits, rounded up. One that has passed is "0n".
func FormatTimeout(d time.Duration) string {
	if d <= 0 {
		return "0n"
	}
	for _, u := range units {
		if n := (d-1)/u.d + 1; n <= maxTimeout {
			return strconv.FormatInt(int64(n), 10) + string(u.suffix)
		}
	}
	return strconv.Itoa(maxTimeout) + "H"
}

// ParseTimeout is the inverse of [FormatTimeout]. A timeout of zero is
// returned as -1 ns: it has passed. Values that overflow are the longest
// duration.
func ParseTimeout(s string) (time.Duration, error) {
	bad := fmt.Errorf("malformed %s %q: want up to eight digits and a unit of H, M, S, m, u, n", TimeoutHeader, s)
	if len(s) < 2 || len(s) > 9 {
		return 0, bad
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 63)
	if err != nil {
		return 0, bad
	}
	for _, u := range units {
		if u.suffix != s[len(s)-1] {
			continue
		}
		d := time.Duration(n) * u.d
		switch {
		case d/u.d != time.Duration(n):
			return 1<<63 - 1, nil
		case d == 0:
			return -1, nil
		}
		return d, nil
	}
	return 0, bad
}
