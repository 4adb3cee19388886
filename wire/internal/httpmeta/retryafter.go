package httpmeta

import (
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// maxRetryAfter bounds what a Retry-After may ask: more than anybody waits, and
// less than a time.Duration holds.
const maxRetryAfter = 365 * 24 * time.Hour

// RetryAfter adds to a status what the headers, or trailers, of its response say
// about another try: Retry-After (RFC 9110, section 10.2.3), or gRPC's pushback.
func RetryAfter(s *status.Status, h http.Header) *status.Status {
	if wait, ok := rpc.ParsePushback(h["Grpc-Retry-Pushback-Ms"]); ok {
		return rpc.WithRetryInfo(s, wait)
	}
	if wait, ok := parseRetryAfter(h.Get("Retry-After")); ok {
		return rpc.WithRetryInfo(s, wait)
	}
	return s
}

// parseRetryAfter reads a number of seconds or a date.
func parseRetryAfter(text string) (time.Duration, bool) {
	if text == "" {
		return 0, false
	}
	if n, err := strconv.ParseUint(text, 10, 63); err == nil {
		return time.Duration(min(n, uint64(maxRetryAfter/time.Second))) * time.Second, true
	}
	at, err := http.ParseTime(text)
	if err != nil {
		return 0, false // it says nothing that we understand
	}
	return min(max(time.Until(at), 0), maxRetryAfter), true
}
