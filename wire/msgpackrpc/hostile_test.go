package msgpackrpc_test

import (
	"io"
	"runtime"
	"strings"
	"testing"

	"github.com/everywire/everywire/wire/internal/rpc"
)

// Headers that claim gigabytes, at every place where a length or a count may
// stand, cost what they send: memory is reserved for what has arrived.
func TestHostileClaimsCostNothing(t *testing.T) {
	f := newFixture(t, func(c *rpc.ServerConfig) { c.Limits.MaxMessage, c.Limits.MaxMetadata = 64<<20, 1<<10 })
	claims := []string{
		"\xdd\xff\xff\xff\xff", "\xdf\xff\xff\xff\xff", "\xdb\xff\xff\xff\xff", "\xc6\xff\xff\xff\xff", "\xc9\xff\xff\xff\xff\x05",
		"\xdd\x03\xff\xff\xff", "\xdf\x01\xff\xff\xff", "\xdb\x03\xff\xff\xff", "\xc6\x03\xff\xff\xff", "\xc9\x03\xff\xff\xff\x05", // within the limit
	}
	places := []string{
		"", "\x94", "\x94\x00", "\x94\x00\x01", "\x94\x00\x01" + sumName, "\x94\x00\x01" + sumName + "\x91", "\x94\x00\x01\xa3add\x92",
		"\x93\x02", "\x93\x02\xa8rpc.meta", "\x93\x02\xa8rpc.meta\x92\x01\x81\xa6header", "\x94\x01\x01",
		"\x81", "\x84" + v2 + idIs, "\x84" + v2 + "\xa6params", "\x84" + v2 + "\xa4meta", "\x91", "\x91\x81",
	}
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	var peers []*foreign
	for _, place := range places {
		for _, claim := range claims {
			p := f.foreign(t)
			p.send(place, claim)
			peers = append(peers, p)
		}
	}
	p := f.foreign(t) // other connections do not notice
	p.send(request("add", "\x92\x14\x15", "\x01"))
	p.wantRaw(result("\x29", "\x01"))
	runtime.ReadMemStats(&after)
	if n := (after.TotalAlloc - before.TotalAlloc) / uint64(len(peers)); n > 256<<10 {
		t.Errorf("%d bytes allocated for each of %d connections that claim much", n, len(peers))
	}
	for _, p := range peers {
		p.conn.Close()
	}
}

// Deep nesting is an error of the frame, in either envelope, and the depth that
// is allowed is answered.
func TestDepth(t *testing.T) {
	f := newFixture(t)
	deep := func(n int) string { return strings.Repeat("\x91", n) + "\xc0" }
	p := f.foreign(t)
	p.send("\x94\x00\x01\xb0arith.Arith/Echo\x91" + deep(500))
	p.wantRaw("\x94\x01\x01\xc0" + deep(500))
	p.send(request("arith.Arith/Echo", "\x91"+deep(500), "\x01"))
	p.wantRaw(result(deep(500), "\x01"))
	p.send("\x94\x00\x01\xb0arith.Arith/Echo\x91" + deep(501))
	if got := p.receive().([]any)[2].(map[string]any); got["code"] != int64(3) || !strings.Contains(got["message"].(string), "nested deeper than 500 levels") {
		t.Errorf("501 levels: %v", got)
	}
	for _, sent := range []string{deep(10_000), request("arith.Arith/Echo", deep(10_000), "\x01")} {
		p := f.foreign(t)
		p.send(sent)
		if rest, err := io.ReadAll(p.conn); err != nil || len(rest) > 0 {
			t.Errorf("10000 levels are answered with % x, %v", rest, err)
		}
	}
}
