package httpmeta

import (
	"math"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/grpc/metadata"
	"pgregory.net/rapid"
)

func TestPut(t *testing.T) {
	md := metadata.MD{
		"x-request-id": {"a", "b"},
		"blob-bin":     {"\x00\xff", ""},
		"odd_key.v1":   {""},
		// What HTTP and the wire own cannot be set.
		"content-type": {"text/html"}, "content-length": {"5"}, "transfer-encoding": {"chunked"},
		"connection": {"close"}, "expect": {"100-continue"}, "grpc-timeout": {"1S"}, "host": {"h"},
		"trailer-x": {"t"}, ":path": {"/"}, "": {"e"},
	}
	h := http.Header{}
	Put(h, "", md)
	want := http.Header{"X-Request-Id": {"a", "b"}, "Blob-Bin": {"AP8", ""}, "Odd_key.v1": {""}}
	if d := cmp.Diff(want, h); d != "" {
		t.Errorf("headers (-want +got):\n%s", d)
	}

	h = http.Header{}
	Put(h, TrailerPrefix, metadata.MD{"x": {"1"}, "content-type": {"t"}, "sum-bin": {"\x01"}, "trailer-y": {"2"}, ":p": {"3"}})
	want = http.Header{"Trailer-X": {"1"}, "Trailer-Content-Type": {"t"}, "Trailer-Sum-Bin": {"AQ"}, "Trailer-Trailer-Y": {"2"}}
	if d := cmp.Diff(want, h); d != "" {
		t.Errorf("trailers (-want +got):\n%s", d)
	}
}

func TestTake(t *testing.T) {
	h := http.Header{
		"Content-Type": {"application/json"}, "Content-Length": {"2"}, "Accept": {"*/*"}, "Date": {"now"},
		"Connection": {"close"}, "Expect": {"100-continue"}, "Grpc-Timeout": {"1S"}, "Te": {"trailers"}, "Trailer": {"X"},
		"Authorization": {"Bearer x"}, "User-Agent": {"curl"}, "X-A": {"1", "2"},
		"Padded-Bin": {"AP8="}, "Folded-Bin": {"AQ, Ag==", "Aw"}, "Empty-Bin": {""},
		"Trailer-T": {"v"}, "Trailer-T-Bin": {"AQ"}, "Trailer-": {"nameless"}, "Trailer-Content-Type": {"x"},
	}
	header, trailer, err := Take(h)
	if err != nil {
		t.Fatal(err)
	}
	wantHeader := metadata.MD{
		"authorization": {"Bearer x"}, "user-agent": {"curl"}, "x-a": {"1", "2"},
		"padded-bin": {"\x00\xff"}, "folded-bin": {"\x01", "\x02", "\x03"}, "empty-bin": {""},
	}
	if d := cmp.Diff(wantHeader, header); d != "" {
		t.Errorf("header (-want +got):\n%s", d)
	}
	if d := cmp.Diff(metadata.MD{"t": {"v"}, "t-bin": {"\x01"}, "content-type": {"x"}}, trailer); d != "" {
		t.Errorf("trailer (-want +got):\n%s", d)
	}
	if _, trailer, _ := Take(http.Header{"X": {"1"}}); trailer != nil {
		t.Errorf("trailer of a message without one: %v", trailer)
	}
}

func TestTakeDoesNotLendCapacity(t *testing.T) {
	values := []string{"a", "b"}
	header, _, err := Take(http.Header{"X": values[:1]})
	if err != nil {
		t.Fatal(err)
	}
	_ = append(header["x"], "c")
	if values[1] != "b" {
		t.Error("appending to metadata changed the headers")
	}
}

func TestTakeNamesTheBadHeader(t *testing.T) {
	for _, name := range []string{"Blob-Bin", "Trailer-Blob-Bin"} {
		_, _, err := Take(http.Header{name: {"not base64!"}})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: error %v", name, err)
		}
	}
}

func TestLower(t *testing.T) {
	for _, name := range []string{"Accept", "Authorization", "Content-Length", "Content-Type", "Date", "Grpc-Timeout", "User-Agent", "X-Other"} {
		if got := lower(name); got != strings.ToLower(name) {
			t.Errorf("lower(%q) = %q", name, got)
		}
	}
}

// Metadata within gRPC's rules comes out as it went in.
func TestPutTake(t *testing.T) {
	key := rapid.StringMatching(`x[0-9a-z_.-]{0,8}(-bin)?`)
	rapid.Check(t, func(t *rapid.T) {
		gen := func(label string) metadata.MD {
			md := metadata.MD{}
			for k := range rapid.MapOfN(key, rapid.Bool(), 0, 4).Draw(t, label) {
				value := rapid.StringMatching(`[ -~]*`)
				if strings.HasSuffix(k, "-bin") {
					value = rapid.Map(rapid.SliceOf(rapid.Byte()), func(b []byte) string { return string(b) })
				}
				md[k] = rapid.SliceOfN(value, 1, 3).Draw(t, k)
			}
			return md
		}
		header, trailer := gen("header"), gen("trailer")
		h := http.Header{}
		Put(h, "", header)
		Put(h, TrailerPrefix, trailer)
		gotHeader, gotTrailer, err := Take(h)
		if err != nil {
			t.Fatal(err)
		}
		if d := cmp.Diff(header, gotHeader); d != "" {
			t.Errorf("header:\n%s", d)
		}
		if gotTrailer == nil {
			gotTrailer = metadata.MD{}
		}
		if d := cmp.Diff(trailer, gotTrailer); d != "" {
			t.Errorf("trailer:\n%s", d)
		}
	})
}

func TestFormatTimeout(t *testing.T) {
	for _, c := range []struct {
		d    time.Duration
		want string
	}{
		{-time.Second, "0n"},
		{0, "0n"},
		{1, "1n"},
		{99999999, "99999999n"},
		{100000000, "100000u"},
		{100000001, "100001u"}, // rounded up: never shorter than asked
		{10 * time.Second, "10000000u"},
		{100 * time.Second, "100000m"},
		{30 * time.Hour, "108000S"},
		{math.MaxInt64, ""}, // checked apart
	} {
		got := FormatTimeout(c.d)
		if c.d == math.MaxInt64 {
			if n, err := ParseTimeout(got); err != nil || n < math.MaxInt64-time.Minute {
				t.Errorf("FormatTimeout(longest) = %q, which reads %v, %v", got, n, err)
			}
			continue
		}
		if got != c.want {
			t.Errorf("FormatTimeout(%d) = %q, want %q", c.d, got, c.want)
		}
	}
}

func TestParseTimeout(t *testing.T) {
	for _, c := range []struct {
		s    string
		want time.Duration
	}{
		{"1n", 1},
		{"250u", 250 * time.Microsecond},
		{"00000005m", 5 * time.Millisecond},
		{"99999999S", 99999999 * time.Second},
		{"2M", 2 * time.Minute},
		{"3H", 3 * time.Hour},
		{"99999999H", math.MaxInt64},
		{"0S", -1},
	} {
		if got, err := ParseTimeout(c.s); err != nil || got != c.want {
			t.Errorf("ParseTimeout(%q) = %d, %v; want %d", c.s, got, err, c.want)
		}
	}
	for _, s := range []string{"", "S", "5", "5s", "-1S", "+1S", "1 S", " 1S", "1.5S", "123456789S", "1_0S", "0x1S", "١S", "1S,2S"} {
		if got, err := ParseTimeout(s); err == nil {
			t.Errorf("ParseTimeout(%q) = %d, want an error", s, got)
		} else if !strings.Contains(err.Error(), TimeoutHeader) {
			t.Errorf("ParseTimeout(%q): error %q does not name the header", s, err)
		}
	}
}

// A timeout that travels is never shorter, and longer by less than one unit of
// at most a hundred-thousandth of it.
func TestTimeoutRoundTrip(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := time.Duration(rapid.Int64Range(1, math.MaxInt64).Draw(t, "d"))
		s := FormatTimeout(d)
		got, err := ParseTimeout(s)
		if err != nil {
			t.Fatalf("%d is %q: %v", d, s, err)
		}
		if got < d || float64(got-d) > float64(d)/1e5 {
			t.Errorf("%d is %q, which is %d", d, s, got)
		}
	})
}

func FuzzParseTimeout(f *testing.F) {
	for _, s := range []string{"1n", "0S", "99999999H", "5", "x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		d, err := ParseTimeout(s)
		if err != nil {
			return
		}
		if d == 0 {
			t.Fatalf("ParseTimeout(%q) is 0, which means no timeout", s)
		}
		if d > 0 {
			if again, err := ParseTimeout(FormatTimeout(d)); err != nil || again < d {
				t.Fatalf("%q is %d, then %d, %v", s, d, again, err)
			}
		}
	})
}
