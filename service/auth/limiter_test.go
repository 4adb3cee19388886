package auth

import (
	"fmt"
	"net"
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestLimiter(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLimiter(Limit{Pair: Rate{2, time.Second}, Address: Rate{4, time.Second}, Name: Rate{6, time.Second}})
	alice1, bob1, alice2 := l.source("alice", "192.0.2.1"), l.source("bob", "192.0.2.1"), l.source("alice", "192.0.2.2")
	try := func(s source, want time.Duration) {
		t.Helper()
		if got := l.try(s, now); got != want {
			t.Errorf("waits %v, want %v", got, want)
		}
	}
	try(alice1, 0)
	try(alice1, 0)
	try(alice1, time.Second) // the pair is empty
	try(bob1, 0)
	try(bob1, 0)
	try(bob1, time.Second)
	try(l.source("carol", "192.0.2.1"), time.Second) // the address is empty
	try(alice2, 0)
	l.giveBack(alice2)
	for range 100 { // what succeeds takes nothing
		try(alice2, 0)
		l.giveBack(alice2)
	}
	now = now.Add(500 * time.Millisecond) // a token comes after a whole second
	try(alice1, 500*time.Millisecond)
	now = now.Add(500 * time.Millisecond)
	try(alice1, 0)
	try(alice1, time.Second)
	for i := range 6 { // from many addresses the name is emptied
		try(l.source("dave", fmt.Sprint("192.0.2.", 10+i)), 0)
	}
	try(l.source("dave", "192.0.2.99"), time.Second)
}

// Whatever fails, what is remembered is bounded; what has filled up again is
// forgotten first.
func TestLimiterMemory(t *testing.T) {
	now := time.Unix(1000, 0)
	l := newLimiter(Limit{Entries: 100})
	for i := range 10_000 {
		l.try(l.source(fmt.Sprint("name", i), fmt.Sprint("address", i)), now)
	}
	for _, b := range []*buckets{&l.pair, &l.address, &l.name} {
		if len(b.byKey) != 100 || b.order.Len() != 100 {
			t.Errorf("%d and %d buckets are kept, want 100", len(b.byKey), b.order.Len())
		}
	}
	now = now.Add(time.Hour)
	l.try(l.source("name", "address"), now)
	if len(l.name.byKey) != 1 {
		t.Errorf("%d buckets are kept, want the one that is not full", len(l.name.byKey))
	}
}

// In any time, no more failures are let through than the bucket holds and what falls
// into it.
func TestLimiterBound(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		rate := Rate{Burst: rapid.IntRange(1, 20).Draw(t, "burst"), Every: time.Duration(rapid.Int64Range(1, int64(time.Minute)).Draw(t, "every"))}
		b := newBuckets(rate, 10)
		start := time.Unix(1000, 0)
		now, tried := start, 0
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			now = now.Add(time.Duration(rapid.Int64Range(0, int64(rate.Every)*2).Draw(t, "gap")))
			wait := b.wait(1, now)
			if wait < 0 || wait > rate.Every {
				t.Fatalf("waits %v, which is not within 0 and %v", wait, rate.Every)
			}
			if wait > 0 && b.wait(1, now.Add(wait-1)) == 0 || b.wait(1, now.Add(wait)) != 0 {
				t.Fatalf("after %v, which it tells, it is not as told", wait)
			}
			if wait == 0 {
				b.take(1, now)
				tried++
			}
			if most := rate.Burst + int(now.Sub(start)/rate.Every); tried > most {
				t.Fatalf("%d were let through within %v, want no more than %d", tried, now.Sub(start), most)
			}
		}
	})
}

func TestAddressOf(t *testing.T) {
	tcp := func(s string) net.Addr {
		a, err := net.ResolveTCPAddr("tcp", s)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	for _, c := range []struct {
		addr net.Addr
		want string
	}{
		{tcp("192.0.2.1:80"), "192.0.2.1"},
		{tcp("[::ffff:192.0.2.1]:80"), "192.0.2.1"},
		{tcp("[2001:db8:1:2:3:4:5:6]:80"), "2001:db8:1:2::/64"},
		{tcp("[fe80::1%lo]:80"), "fe80::/64"},
		{&net.UnixAddr{Name: "/run/x.sock", Net: "unix"}, "unix"},
		{&net.UnixAddr{Net: "unix"}, "unix"},
		{nil, ""},
	} {
		if got := addressOf(c.addr); got != c.want {
			t.Errorf("%v counts as %q, want %q", c.addr, got, c.want)
		}
	}
}
