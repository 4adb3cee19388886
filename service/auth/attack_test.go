package auth_test

import (
	"context"
	"encoding/base64"
	"fmt"
	"math"
	"net"
	"reflect"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/auth"
	"github.com/everywire/everywire/service/auth/users"
)

// from is the context of a call from an address.
func from(ctx context.Context, ip string) context.Context {
	return peer.NewContext(ctx, &peer.Peer{Addr: &net.TCPAddr{IP: net.ParseIP(ip), Port: 1}})
}

// caller calls the service's methods without a wire, as an address.
func caller(f *fixture) func(ctx context.Context, in *auth.Login) (*auth.Token, error) {
	m, _ := f.registry().Lookup("/" + auth.Authenticate)
	return func(ctx context.Context, in *auth.Login) (*auth.Token, error) {
		out, err := m.Unary(ctx, func(dst any) error { *dst.(*auth.Login) = *in; return nil })
		if err != nil {
			return nil, err
		}
		return out.(*auth.Token), nil
	}
}

// A thousand wrong passwords a second, for 20 seconds: what is let through is the bucket
// and what falls into it; the rest is refused before a hash is computed, and told when
// to come again. The name's owner, who is elsewhere, logs in all the while.
func TestThousandWrongPasswordsASecond(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := newFixture(t, false, auth.Options{})
		authenticate := caller(f)
		before := f.users.Hashes()
		attacker, owner := from(t.Context(), "192.0.2.66"), from(t.Context(), "198.51.100.1")
		const seconds, rate = 20, 1000
		refused, limited := 0, 0
		for n := range seconds * rate {
			_, err := authenticate(attacker, &auth.Login{Username: "test", Password: strconv.Itoa(n)})
			switch status.Code(err) {
			case codes.Unauthenticated:
				refused++
			case codes.ResourceExhausted:
				limited++
				if n%5000 == 4999 {
					checkRetryInfo(t, err)
				}
			default:
				t.Fatalf("attempt %d: %v", n, err)
			}
			if n%2000 == 0 {
				if _, err := authenticate(owner, &auth.Login{Username: "test", Password: "secret"}); err != nil {
					t.Fatalf("the owner is locked out at attempt %d: %v", n, err)
				}
			}
			time.Sleep(time.Second / rate) // of the bubble's clock
		}
		owners := seconds * rate / 2000
		most := auth.DefaultPair.Burst + int(seconds*time.Second/auth.DefaultPair.Every)
		if refused > most || refused < auth.DefaultPair.Burst || refused+limited != seconds*rate {
			t.Errorf("%d attempts were tried and %d were not, want at most %d tried", refused, limited, most)
		}
		if n := int(f.users.Hashes() - before); n != refused+owners {
			t.Errorf("%d hashes were computed for %d attempts that were tried, and %d logins", n, refused, owners)
		}
		n := f.service.Snapshot()
		if int(n.Logins[auth.LoginLimited].Count()) != limited || int(n.Logins[auth.LoginRefused].Count()) != refused || int(n.Logins[auth.LoginOK].Count()) != owners {
			t.Errorf("the metrics are %+v", n.Logins)
		}
		if lines := strings.Count(f.log.String(), "\n"); lines > refused+owners {
			t.Errorf("the log has %d lines: an attack fills it", lines)
		}
		t.Logf("of %d wrong passwords in %d s %d were hashed", seconds*rate, seconds, refused)
	})
}

func checkRetryInfo(t *testing.T, err error) {
	t.Helper()
	for _, d := range status.Convert(err).Details() {
		if r, ok := d.(*errdetails.RetryInfo); ok {
			if wait := r.GetRetryDelay().AsDuration(); wait <= 0 || wait > auth.DefaultPair.Every {
				t.Errorf("told to wait %v", wait)
			}
			return
		}
	}
	t.Errorf("not told when to come again: %v", err)
}

// One address that tries a new name each time, and many addresses that try one name,
// are limited as well; and whatever they try, what is remembered is bounded.
func TestSpraying(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		for _, c := range []struct {
			name  string
			login func(n int) (ip, user string)
			rate  auth.Rate
		}{
			{"one address, many names", func(n int) (string, string) { return "192.0.2.66", fmt.Sprint("user", n) }, auth.DefaultAddress},
			{"many addresses, one name", func(n int) (string, string) { return fmt.Sprintf("10.%d.%d.%d", n>>16&255, n>>8&255, n&255), "test" }, auth.DefaultName},
			{"one subscriber of IPv6", func(n int) (string, string) { return fmt.Sprintf("2001:db8::%x", n), fmt.Sprint("user", n) }, auth.DefaultAddress},
		} {
			f := newFixture(t, false, auth.Options{})
			authenticate, before := caller(f), f.users.Hashes()
			const attempts = 5000
			for n := range attempts {
				ip, user := c.login(n)
				if _, err := authenticate(from(t.Context(), ip), &auth.Login{Username: user, Password: "x"}); err == nil {
					t.Fatalf("%s: let in", c.name)
				}
				time.Sleep(time.Millisecond)
			}
			tried := int(f.users.Hashes() - before)
			if most := c.rate.Burst + int(attempts*time.Millisecond/c.rate.Every); tried > most || tried < c.rate.Burst {
				t.Errorf("%s: %d were tried, want %d at most", c.name, tried, most)
			}
		}
	})
}

// Memory does not grow with the names and addresses that are tried.
func TestLimiterIsBoundedInMemory(t *testing.T) {
	f := newFixture(t, false, auth.Options{Limit: auth.Limit{Entries: 1000, Address: auth.Rate{Burst: math.MaxInt32}}})
	authenticate := caller(f)
	heap := func() uint64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	attack := func(from0, n int) {
		for i := from0; i < from0+n; i++ {
			long := strings.Repeat("n", 200) + strconv.Itoa(i)
			ctx := from(context.Background(), fmt.Sprintf("10.%d.%d.%d", i>>16&255, i>>8&255, i&255))
			if _, err := authenticate(ctx, &auth.Login{Username: long, Claims: []string{"x"}}); err == nil {
				t.Fatal("let in")
			}
		}
		f.log.mu.Lock()
		f.log.b.Reset()
		f.log.mu.Unlock()
	}
	attack(0, 2000)
	before := heap()
	attack(2000, 10_000)
	if after := heap(); after > before+1<<20 {
		t.Errorf("the heap has grown from %d to %d bytes", before, after)
	}
}

// A login that succeeds takes nothing from the limit, however many there are at once.
func TestGoodLoginsAreNotLimited(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	authenticate := caller(f)
	var wg sync.WaitGroup
	for range 50 {
		wg.Go(func() {
			for range 20 {
				if _, err := authenticate(from(t.Context(), "192.0.2.1"), &auth.Login{Username: "test", Password: "secret"}); err != nil {
					t.Error(err)
					return
				}
			}
		})
	}
	wg.Wait()
}

// An outsider is told the same for a name that is not there, one that is disabled and
// a wrong password, on every wire: status, text, details, headers; and the work is the
// same.
func TestAnswersTellNothing(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	for name, conn := range clients(t, f) {
		type answer struct {
			code    codes.Code
			message string
			details int
			hashes  uint64
		}
		var first answer
		for i, in := range []auth.Login{
			{Username: "test", Password: "wrong"}, {Username: "nobody", Password: "secret"}, {Username: "off", Password: "secret"}, {Username: "off", Password: "wrong"},
			{Username: strings.Repeat("n", 200), Password: "wrong"}, {Username: "test", Password: strings.Repeat("p", 1000)}, {Username: "' OR 1=1 --", Password: "\x00"},
		} {
			before := f.users.Hashes()
			_, err := everywire.Call[auth.Token](t.Context(), conn, auth.Authenticate, &in)
			s := status.Convert(err)
			got := answer{s.Code(), s.Message(), len(s.Details()), f.users.Hashes() - before}
			if i == 0 {
				first = got
			}
			if got != first || got.code != codes.Unauthenticated || got.hashes != 1 {
				t.Errorf("%s: %.20q: %+v, want %+v", name, in.Username, got, first)
			}
		}
	}
	addr := f.serve(t, restTarget)[restTarget].Addrs[0]
	status0, header0, body0 := raw(t, addr, restPost("/api/v2/authentication", `{"username":"test","password":"wrong"}`))
	for _, body := range []string{`{"username":"nobody","password":"wrong"}`, `{"username":"off","password":"secret"}`, `{"username":"test","claims":["x"]}`, `{"username":"nobody","claims":["x"]}`} {
		status, header, text := raw(t, addr, restPost("/api/v2/authentication", body))
		header.Del("Date")
		header0.Del("Date")
		if status != status0 || text != body0 || !reflect.DeepEqual(header, header0) {
			t.Errorf("%s: %d %v %s, want %d %v %s", body, status, header, text, status0, header0, body0)
		}
	}
}

// Tokens of attackers, on every wire: refused, all with the same words.
func TestAttackersTokens(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	good, _, err := f.tokens.Issue("test", []string{"user"})
	if err != nil {
		t.Fatal(err)
	}
	parts := strings.Split(good, ".")
	b64 := base64.RawURLEncoding.EncodeToString
	claims := b64(fmt.Appendf(nil, `{"sub":"root","exp":%d,"jti":"x","roles":["admin"]}`, time.Now().Add(time.Hour).Unix()))
	attacks := map[string]string{
		"none":            b64([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + claims + ".AA",
		"none, unsigned":  b64([]byte(`{"alg":"none","typ":"JWT"}`)) + "." + claims + ".",
		"other claims":    parts[0] + "." + claims + "." + parts[2],
		"another key":     b64([]byte(`{"alg":"HS256","kid":"nothing"}`)) + "." + parts[1] + "." + parts[2],
		"altered":         good[:len(good)-2] + "AA",
		"duplicated":      good + "." + parts[2],
		"64 KiB":          good + strings.Repeat("A", 64<<10),
		"an API token":    "ewt_" + strings.Repeat("a", 58),
		"a text":          "let me in",
		"percent-encoded": strings.ReplaceAll(good, ".", "%2e"),
	}
	for name, conn := range clients(t, f) {
		words := map[string]bool{}
		for attack, text := range attacks {
			ctx := bearer(t.Context(), text)
			_, err := everywire.Call[auth.Empty](ctx, conn, auth.Verify, &auth.Empty{})
			if attack == "64 KiB" { // some wires' limits of metadata are below that
				if err == nil {
					t.Errorf("%s: %s is taken", name, attack)
				}
			} else if status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s: %s: %v", name, attack, err)
			} else {
				words[status.Convert(err).Message()] = true
			}
			if _, err := everywire.Call[auth.Validity](t.Context(), conn, auth.Validate, &auth.Token{Token: text}); status.Code(err) != codes.Unauthenticated {
				t.Errorf("%s: validate: %s: %v", name, attack, err)
			}
		}
		if len(words) != 1 {
			t.Errorf("%s: refusals differ: %v", name, words)
		}
	}
	if n := f.service.Snapshot(); n.Verifies[auth.VerifyOK].Count() != 0 {
		t.Error("a token was taken")
	}
}

// A token of a megabyte is refused on every wire, as a parameter and as metadata; the
// service goes on.
func TestMegabyteTokens(t *testing.T) {
	f := newFixture(t, false, auth.Options{})
	mega := strings.Repeat("A", 1<<20)
	for name, conn := range clients(t, f) {
		if _, err := everywire.Call[auth.Validity](t.Context(), conn, auth.Validate, &auth.Token{Token: mega}); status.Code(err) != codes.Unauthenticated {
			t.Errorf("%s: as a parameter: %v", name, err)
		}
		ctx, cancel := context.WithTimeout(bearer(t.Context(), mega), 20*time.Second)
		_, err := everywire.Call[auth.Empty](ctx, conn, auth.Verify, &auth.Empty{})
		cancel()
		if c := status.Code(err); !slices.Contains([]codes.Code{codes.Unauthenticated, codes.ResourceExhausted, codes.Unavailable, codes.Internal}, c) {
			t.Errorf("%s: as metadata: %v", name, err)
		}
		text := login(t, conn, "test", "secret")
		if _, err := everywire.Call[auth.Empty](bearer(t.Context(), text), conn, auth.Verify, &auth.Empty{}); err != nil {
			t.Errorf("%s: afterwards: %v", name, err)
		}
	}
	if n := f.service.Snapshot().Verifies; n[0].Count() == 0 {
		t.Error("nothing was verified")
	}
}

// More logins at once than may wait are refused with another text, and told to come
// again; that does not count as a failure of theirs.
func TestTooBusy(t *testing.T) {
	f := newFixture(t, true, auth.Options{})
	busy, err := users.New(users.Options{Hash: users.PBKDF2, MinPassword: 1, Hashes: 1, Queue: 1, Logger: f.logger})
	if err != nil {
		t.Fatal(err)
	}
	if err := busy.Put(t.Context(), users.User{Name: "test", Enabled: true}, "secret"); err != nil {
		t.Fatal(err)
	}
	limit := auth.Limit{Pair: auth.Rate{Burst: 20, Every: time.Hour}}
	if f.service, err = auth.New(auth.Options{Users: busy, Tokens: f.tokens, Logger: f.logger, Limit: limit}); err != nil {
		t.Fatal(err)
	}
	authenticate, ctx := caller(f), from(t.Context(), "192.0.2.1")
	tooBusy := func() uint64 {
		n := f.service.Snapshot()
		return n.Logins[auth.LoginTooBusy].Count()
	}
	for deadline := time.Now().Add(20 * time.Second); tooBusy() < 100; {
		if time.Now().After(deadline) {
			t.Fatal("no login has met two others")
		}
		var wg sync.WaitGroup
		for range 10 {
			wg.Go(func() {
				_, err := authenticate(ctx, &auth.Login{Username: "test", Password: "secret"})
				if s := status.Convert(err); s.Code() != codes.OK && (s.Code() != codes.ResourceExhausted || s.Message() != "too many logins at once: try again later") {
					t.Error(err)
				}
			})
		}
		wg.Wait()
	}
	if n := f.service.Snapshot(); n.InFlight != 0 || n.Logins[auth.LoginLimited].Count() != 0 {
		t.Errorf("in flight %d, limited %d", n.InFlight, n.Logins[auth.LoginLimited].Count())
	}
}
