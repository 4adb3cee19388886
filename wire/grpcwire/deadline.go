package grpcwire

import (
	"context"
	"net/http"
	"strconv"
	"time"

	"google.golang.org/grpc/tap"

	"github.com/everywire/everywire"
)

// streamTime is the bound of a method's streams, 0 if there is none.
func streamTime(reg *everywire.Registry, path string) time.Duration {
	if m, ok := reg.Lookup(path); ok {
		return m.MaxStreamTime()
	}
	return 0
}

// streamsEnd reports whether streams have a bound.
func streamsEnd(reg *everywire.Registry) bool {
	for _, m := range reg.Methods() {
		if m.MaxStreamTime() > 0 {
			return true
		}
	}
	return false
}

// clampStreams gives streams their deadline before grpc-go has made them: what waits
// for a message of a stream waits by the context that the stream was made with.
func clampStreams(reg *everywire.Registry) tap.ServerInHandle {
	return func(ctx context.Context, info *tap.Info) (context.Context, error) {
		d := streamTime(reg, info.FullMethodName)
		if d == 0 {
			return ctx, nil
		}
		clamped, stop := context.WithTimeout(ctx, d)
		context.AfterFunc(ctx, stop) // grpc-go knows how to end its own
		return clamped, nil
	}
}

const timeoutHeader = "Grpc-Timeout"

// clampTimeout returns the headers of a stream with a timeout of d at most, for
// requests, where grpc-go goes by this header alone. One that is malformed stays as
// it is.
func clampTimeout(h http.Header, d time.Duration) http.Header {
	if text := h.Get(timeoutHeader); text != "" {
		if given, ok := parseTimeout(text); !ok || given <= d {
			return h
		}
	}
	h = h.Clone()
	h.Set(timeoutHeader, formatTimeout(d))
	return h
}

// units are those of grpc-timeout, the finest first.
var units = []struct {
	name byte
	unit time.Duration
}{{'n', time.Nanosecond}, {'u', time.Microsecond}, {'m', time.Millisecond}, {'S', time.Second}, {'M', time.Minute}, {'H', time.Hour}}

// maxTimeout is the largest number that grpc-timeout has place for: eight digits.
const maxTimeout = 99999999

// formatTimeout writes a time of more than 0 in the finest unit that has place for
// it.
func formatTimeout(d time.Duration) string {
	i := 0
	for d/units[i].unit > maxTimeout { // not in hours: a time.Duration has 2562047 at most
		i++
	}
	return strconv.FormatInt(int64(d/units[i].unit), 10) + string(units[i].name)
}

// parseTimeout reads a grpc-timeout (PROTOCOL-HTTP2: at most eight digits and a unit).
func parseTimeout(s string) (time.Duration, bool) {
	if len(s) < 2 || len(s) > 9 {
		return 0, false
	}
	n, err := strconv.ParseUint(s[:len(s)-1], 10, 32)
	if err != nil {
		return 0, false
	}
	for _, u := range units {
		if u.name == s[len(s)-1] {
			if most := uint64(never / u.unit); n > most { //nolint:gosec // both are positive
				return never, true
			}
			return time.Duration(n) * u.unit, true //nolint:gosec // no more than never
		}
	}
	return 0, false
}
