package auth

import (
	"container/list"
	"hash/maphash"
	"net"
	"net/netip"
	"sync"
	"time"
)

// A Limit bounds how often logins may fail. Each of its three rates is a bucket of
// tokens: a login takes one from each, and who finds one empty is refused before
// anything costs. A login that succeeds gives its tokens back, so that a program which
// logs in all the time is not refused.
//
// The pair of a name and an address comes first and is the strictest: so one address
// cannot empty the bucket of a name, and lock out the name's owner who is elsewhere.
// Whoever has many addresses can: then nobody logs in by that name for a while, and
// its password stays unknown.
type Limit struct {
	// Off lets everything through: for a server that only measures.
	Off bool
	// Pair is for one name from one address, Address for one address whatever the
	// names, Name for one name wherever from. Zeros are the defaults.
	Pair, Address, Name Rate
	// Entries is how many names and how many addresses are remembered. Beyond that
	// those that failed least lately are forgotten. Default 65536.
	Entries int
}

// A Rate is a bucket of Burst tokens into which one falls after each Every.
type Rate struct {
	Burst int
	Every time.Duration
}

// The defaults of a [Limit]. NIST SP 800-63B, section 5.2.2, allows 100 failures in a
// row; programs with some dozens of callers who log in at once as one user are let in.
var (
	DefaultPair    = Rate{Burst: 60, Every: 10 * time.Second}
	DefaultAddress = Rate{Burst: 200, Every: 500 * time.Millisecond}
	DefaultName    = Rate{Burst: 300, Every: time.Second}
)

// DefaultEntries is how many names and addresses a [Limit] remembers.
const DefaultEntries = 65536

func (r Rate) or(def Rate) Rate {
	if r.Burst <= 0 {
		r.Burst = def.Burst
	}
	if r.Every <= 0 {
		r.Every = def.Every
	}
	return r
}

// A limiter counts failures for a [Limit].
type limiter struct {
	off  bool
	seed maphash.Seed

	mu                  sync.Mutex
	pair, address, name buckets
}

func newLimiter(l Limit) *limiter {
	most := l.Entries
	if most <= 0 {
		most = DefaultEntries
	}
	return &limiter{
		off: l.Off, seed: maphash.MakeSeed(),
		pair: newBuckets(l.Pair.or(DefaultPair), most), address: newBuckets(l.Address.or(DefaultAddress), most), name: newBuckets(l.Name.or(DefaultName), most),
	}
}

// A source is who tries to log in as whom. Names and addresses are kept as hashes
// with a seed of the process: so each takes the same little memory, however long it is.
type source struct{ pair, address, name uint64 }

func (l *limiter) source(name, address string) source {
	return source{
		pair:    maphash.Comparable(l.seed, [2]string{address, name}),
		address: maphash.String(l.seed, address),
		name:    maphash.String(l.seed, name),
	}
}

// try takes a token from each bucket. If one is empty it takes none, and returns how
// long the source has to wait.
func (l *limiter) try(s source, now time.Time) (wait time.Duration) {
	if l.off {
		return 0
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	wait = max(l.pair.wait(s.pair, now), l.address.wait(s.address, now), l.name.wait(s.name, now))
	if wait == 0 {
		l.pair.take(s.pair, now)
		l.address.take(s.address, now)
		l.name.take(s.name, now)
	}
	return wait
}

// giveBack undoes a try that has not failed.
func (l *limiter) giveBack(s source) {
	if l.off {
		return
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.pair.giveBack(s.pair)
	l.address.giveBack(s.address)
	l.name.giveBack(s.name)
}

// buckets are those of one rate. One that is not there is full.
type buckets struct {
	rate  Rate
	most  int
	byKey map[uint64]*list.Element
	order *list.List // of *bucket, the one that was taken from last in front
}

// A bucket is as many tokens short of being full as Every fits between now and full.
type bucket struct {
	key  uint64
	full time.Time
}

func newBuckets(r Rate, most int) buckets {
	return buckets{rate: r, most: most, byKey: map[uint64]*list.Element{}, order: list.New()}
}

// wait is how long it takes until the bucket has a token.
func (b *buckets) wait(key uint64, now time.Time) time.Duration {
	e := b.byKey[key]
	if e == nil {
		return 0
	}
	// There is a token as long as no more than Burst-1 are missing.
	missing := e.Value.(*bucket).full.Sub(now)
	return max(0, missing-time.Duration(b.rate.Burst-1)*b.rate.Every)
}

// take takes a token. Among those that were taken from least lately, buckets that
// have filled up are forgotten, and one more if there are too many.
func (b *buckets) take(key uint64, now time.Time) {
	e := b.byKey[key]
	if e == nil {
		for back := b.order.Back(); back != nil; back = b.order.Back() {
			old := back.Value.(*bucket)
			if b.order.Len() < b.most && old.full.After(now) {
				break
			}
			b.order.Remove(back)
			delete(b.byKey, old.key)
		}
		e = b.order.PushFront(&bucket{key: key, full: now})
		b.byKey[key] = e
	}
	one := e.Value.(*bucket)
	if one.full.Before(now) {
		one.full = now
	}
	one.full = one.full.Add(b.rate.Every)
	b.order.MoveToFront(e)
}

// giveBack puts a token back.
func (b *buckets) giveBack(key uint64) {
	if e := b.byKey[key]; e != nil { // else it has been forgotten, and so is full
		one := e.Value.(*bucket)
		one.full = one.full.Add(-b.rate.Every)
	}
}

// addressOf is what a peer's address counts as: without its port, and of IPv6 the
// network of 64 bits, which one subscriber has all of. What is no IP address, such as
// a unix socket, is one address.
func addressOf(addr net.Addr) string {
	if addr == nil {
		return ""
	}
	text := addr.String()
	host, _, err := net.SplitHostPort(text)
	if err != nil {
		return addr.Network()
	}
	ip, err := netip.ParseAddr(host)
	if err != nil {
		return host
	}
	ip = ip.Unmap().WithZone("")
	if ip.Is4() {
		return ip.String()
	}
	network, err := ip.Prefix(64)
	if err != nil { // an address of IPv6 has 128 bits
		return host
	}
	return network.String()
}
