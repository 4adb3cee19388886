package kv_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"maps"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"

	"github.com/everywire/everywire/service/kv"
)

// maxBytes is the store's limit in the model: some 8 keys.
const maxBytes = 1200

// A model is what a store should hold, and what it should have told.
type model struct {
	items   map[string]*kv.Entry
	version int64
	events  []string
}

func (m *model) size() (n int) {
	for k, e := range m.items {
		n += len(k) + len(e.Value) + 128
	}
	return n
}

func (m *model) event(kind, key string, value []byte) {
	m.version++
	m.events = append(m.events, fmt.Sprintf("%d %s %q=%q", m.version, kind, key, value))
}

func (m *model) remove(kind, key string) {
	m.event(kind, key, nil)
	delete(m.items, key)
}

func (m *model) store(kind, key string, value []byte, ttl *time.Duration) {
	m.event(kind, key, value)
	e := &kv.Entry{Key: []byte(key), Value: value, Version: m.version}
	if ttl != nil {
		e.Expires = ptr(time.Now().Add(*ttl))
	}
	m.items[key] = e
}

// pass lets time pass, and keys expire in the order of their times.
func (m *model) pass(d time.Duration) {
	time.Sleep(d)
	synctest.Wait()
	var gone []*kv.Entry
	for _, e := range m.items {
		if e.Expires != nil && !e.Expires.After(time.Now()) {
			gone = append(gone, e)
		}
	}
	slices.SortFunc(gone, func(a, b *kv.Entry) int { return a.Expires.Compare(*b.Expires) })
	for _, e := range gone {
		m.remove("expire", string(e.Key))
	}
}

// Random calls against a model: replies, codes, versions, what scans find, what
// watchers are told, and what is there after the store was opened again.
func TestModel(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				// Without the test's deadline, for which there is no time in the bubble.
				rapid.Check(struct{ testing.TB }{t}, func(rt *rapid.T) { checkModel(t, rt, e) })
			})
		})
	}
}

func checkModel(t *testing.T, rt *rapid.T, e engine) {
	dir, err := os.MkdirTemp(t.TempDir(), "") // of each try its own
	if err != nil {
		rt.Fatal(err)
	}
	opts := kv.Options{MaxBytes: maxBytes}
	s, err := e.open(dir, opts)
	if err != nil {
		rt.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	watched := record(ctx, s, &kv.WatchRequest{})
	finish := func() {
		cancel()
		<-watched.ended
		if err := s.Close(); err != nil {
			rt.Fatal(err)
		}
	}
	defer func() { finish() }()

	m := &model{items: map[string]*kv.Entry{}}
	key := rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 1, 4, -1)
	value := rapid.SliceOfN(rapid.Byte(), 0, 60)
	ttl := rapid.Custom(func(rt *rapid.T) *time.Duration {
		if n := rapid.IntRange(0, 5).Draw(rt, "seconds"); n > 2 {
			return ptr(time.Duration(n) * time.Second)
		}
		return nil
	})
	// Which version a change is for: none, the right one, or another.
	type wanted struct {
		match   *string
		version *int64
		holds   bool
	}
	condition := func(rt *rapid.T, k string) wanted {
		var now int64
		if e := m.items[k]; e != nil {
			now = e.Version
		}
		switch rapid.IntRange(0, 5).Draw(rt, "condition") {
		case 0:
			return wanted{version: ptr(now + 1)}
		case 1:
			return wanted{version: ptr(max(now, 1)), holds: true}
		case 2:
			return wanted{match: ptr(fmt.Sprintf(`"%d", "%d"`, now+3, now)), holds: true}
		case 3:
			return wanted{match: ptr(fmt.Sprintf(`W/"%d", "0%d", %d`, now, now, now))}
		case 4:
			return wanted{match: ptr("*"), version: ptr(max(now, 1)), holds: true}
		}
		return wanted{holds: true}
	}
	expect := func(what string, err error, want codes.Code) bool {
		rt.Helper()
		if got := status.Code(err); got != want {
			rt.Fatalf("%s: %v, want %v", what, err, want)
		}
		return want == codes.OK
	}
	fits := func(more int) bool { return more <= 0 || m.size()+more <= maxBytes }
	rt.Repeat(map[string]func(*rapid.T){
		"create": func(rt *rapid.T) {
			k, v, ttl := key.Draw(rt, "k"), value.Draw(rt, "v"), ttl.Draw(rt, "ttl")
			out, err := s.Create(ctx, &kv.CreateRequest{Key: []byte(k), Value: v, TTL: ttl})
			want := codes.OK
			if m.items[k] != nil {
				want = codes.AlreadyExists
			} else if !fits(len(k) + len(v) + 128) {
				want = codes.ResourceExhausted
			}
			if expect("create", err, want) {
				if m.store("create", k, v, ttl); out.Version != m.version {
					rt.Fatalf("create gave version %d, want %d", out.Version, m.version)
				}
			}
		},
		"update": func(rt *rapid.T) {
			k, v, ttl := key.Draw(rt, "k"), value.Draw(rt, "v"), ttl.Draw(rt, "ttl")
			c := condition(rt, k)
			out, err := s.Update(ctx, &kv.UpdateRequest{Key: []byte(k), Value: v, TTL: ttl, IfMatch: c.match, IfVersion: c.version})
			want := codes.OK
			if old := m.items[k]; old == nil {
				want = codes.NotFound
			} else if !c.holds {
				want = codes.Aborted
			} else if !fits(len(v) - len(old.Value)) {
				want = codes.ResourceExhausted
			}
			if expect("update", err, want) {
				if m.store("update", k, v, ttl); out.Version != m.version {
					rt.Fatalf("update gave version %d, want %d", out.Version, m.version)
				}
			}
		},
		"delete": func(rt *rapid.T) {
			k := key.Draw(rt, "k")
			c := condition(rt, k)
			_, err := s.Delete(ctx, &kv.DeleteRequest{Key: []byte(k), IfMatch: c.match, IfVersion: c.version})
			want := codes.OK
			if m.items[k] != nil && !c.holds {
				want = codes.Aborted
			}
			if expect("delete", err, want) && m.items[k] != nil {
				m.remove("delete", k)
			}
		},
		"retrieve": func(rt *rapid.T) {
			k := key.Draw(rt, "k")
			out, err := s.Retrieve(ctx, &kv.RetrieveRequest{Key: []byte(k)})
			e := m.items[k]
			if e == nil {
				expect("retrieve", err, codes.NotFound)
				return
			}
			if err != nil || !bytes.Equal(out.Value, e.Value) || out.Version != e.Version || !sameTime(out.Expires, e.Expires) {
				rt.Fatalf("retrieve %q: %v, %v, want %v", k, out, err, e)
			}
		},
		"scan": func(rt *rapid.T) {
			in := &kv.ScanRequest{
				Prefix: []byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 2, -1).Draw(rt, "prefix")),
				After:  []byte(rapid.StringOfN(rapid.RuneFrom([]rune("ab")), 0, 3, -1).Draw(rt, "after")),
				Limit:  int64(rapid.IntRange(0, 4).Draw(rt, "limit")), KeysOnly: rapid.Bool().Draw(rt, "keys only"),
			}
			found, version, err := scan(ctx, s, in)
			if err != nil || version != strconv.FormatInt(m.version, 10) {
				rt.Fatalf("scan: %v, of version %q, want %d", err, version, m.version)
			}
			var want []*kv.Entry
			for _, k := range slices.Sorted(maps.Keys(m.items)) {
				if strings.HasPrefix(k, string(in.Prefix)) && k > string(in.After) && (in.Limit == 0 || len(want) < int(in.Limit)) {
					want = append(want, m.items[k])
				}
			}
			if !slices.EqualFunc(found, want, func(a, b *kv.Entry) bool {
				value := b.Value
				if in.KeysOnly {
					value = nil
				}
				return bytes.Equal(a.Key, b.Key) && bytes.Equal(a.Value, value) && a.Version == b.Version && sameTime(a.Expires, b.Expires)
			}) {
				rt.Fatalf("scan %+v found %v, want %v", in, found, want)
			}
		},
		"time passes": func(rt *rapid.T) {
			m.pass(time.Duration(rapid.IntRange(1, 2500).Draw(rt, "ms")) * time.Millisecond)
		},
		"open again": func(rt *rapid.T) {
			if !e.durable {
				rt.Skip("the store is in memory")
			}
			finish()
			var err error
			if s, err = e.open(dir, opts); err != nil {
				rt.Fatal(err)
			}
			m.events = nil
			ctx, cancel = context.WithCancel(t.Context())
			watched = record(ctx, s, &kv.WatchRequest{})
		},
		"": func(rt *rapid.T) {
			m.pass(time.Millisecond) // no two keys expire at one time
			var told []string
			for _, e := range watched.seen() {
				told = append(told, fmt.Sprintf("%d %s %q=%q", e.Version, e.Kind, e.Key, e.Value))
			}
			if !slices.Equal(told, m.events) {
				rt.Fatalf("a watcher was told\n%s\nwant\n%s", strings.Join(told, "\n"), strings.Join(m.events, "\n"))
			}
		},
	})
}

func sameTime(a, b *time.Time) bool {
	return (a == nil) == (b == nil) && (a == nil || cmp.Compare(a.UnixNano(), b.UnixNano()) == 0)
}
