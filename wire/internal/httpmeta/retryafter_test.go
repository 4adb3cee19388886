package httpmeta

import (
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

func TestRetryAfter(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		date := func(d time.Duration) string { return time.Now().Add(d).UTC().Format(http.TimeFormat) }
		for name, test := range map[string]struct {
			header http.Header
			want   time.Duration
			ok     bool
		}{
			"nothing":        {http.Header{}, 0, false},
			"seconds":        {http.Header{"Retry-After": {"120"}}, 2 * time.Minute, true},
			"at once":        {http.Header{"Retry-After": {"0"}}, 0, true},
			"a date":         {http.Header{"Retry-After": {date(time.Minute)}}, time.Minute, true},
			"a date gone by": {http.Header{"Retry-After": {date(-time.Hour)}}, 0, true},
			"for ever":       {http.Header{"Retry-After": {"9223372036854775807"}}, maxRetryAfter, true},
			"negative":       {http.Header{"Retry-After": {"-1"}}, 0, false},
			"a word":         {http.Header{"Retry-After": {"soon"}}, 0, false},
			"pushback":       {http.Header{"Grpc-Retry-Pushback-Ms": {"250"}, "Retry-After": {"9"}}, 250 * time.Millisecond, true},
			"never":          {http.Header{"Grpc-Retry-Pushback-Ms": {"-1"}}, -1, true},
			"unreadable":     {http.Header{"Grpc-Retry-Pushback-Ms": {"x"}}, -1, true},
			"two":            {http.Header{"Grpc-Retry-Pushback-Ms": {"1", "2"}}, -1, true},
		} {
			s := RetryAfter(status.New(codes.Unavailable, "x"), test.header)
			var got []any
			if got = s.Details(); len(got) == 0 {
				if test.ok {
					t.Errorf("%s: no detail", name)
				}
				continue
			}
			info, is := got[0].(*errdetails.RetryInfo)
			if !test.ok || !is || info.GetRetryDelay().AsDuration() != test.want || s.Code() != codes.Unavailable {
				t.Errorf("%s: %v, want %v, %v", name, s, test.want, test.ok)
			}
		}
	})
	own, err := status.New(codes.Unavailable, "x").WithDetails(&errdetails.RetryInfo{})
	if err != nil {
		t.Fatal(err)
	}
	if s := RetryAfter(own, http.Header{"Retry-After": {"120"}}); len(s.Details()) != 1 {
		t.Errorf("what the status says itself does not hold: %v", s)
	}
}
