package kv_test

import (
	"context"
	"maps"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// Each mistake has its code, and details that name the key and the limit.
func TestErrors(t *testing.T) {
	onEach(t, kv.Options{MaxBytes: 1000, MaxKey: 20}, func(t *testing.T, s *kv.Store) {
		ctx := t.Context()
		create(t, s, "there", "value")
		create(t, s, "bin\xff", "value")
		long := []byte(strings.Repeat("k", 21))
		update := func(in *kv.UpdateRequest) error { _, err := s.Update(ctx, in); return err }
		remove := func(in *kv.DeleteRequest) error { _, err := s.Delete(ctx, in); return err }
		add := func(in *kv.CreateRequest) error { _, err := s.Create(ctx, in); return err }
		get := func(key []byte) error { _, err := s.Retrieve(ctx, &kv.RetrieveRequest{Key: key}); return err }
		list := func(in *kv.ScanRequest) error { _, _, err := scan(ctx, s, in); return err }
		watch := func(in *kv.WatchRequest) error { r := record(ctx, s, in); <-r.ended; return r.err }
		for _, c := range []struct {
			name            string
			err             error
			code            codes.Code
			reason          string
			info            map[string]string
			resource, field string
			text            string
		}{
			{"create: empty key", add(&kv.CreateRequest{}), codes.InvalidArgument, "", nil, "", "key", "key: is empty"},
			{"retrieve: empty key", get(nil), codes.InvalidArgument, "", nil, "", "key", "key: is empty"},
			{"update: empty key", update(&kv.UpdateRequest{}), codes.InvalidArgument, "", nil, "", "key", "key: is empty"},
			{"delete: empty key", remove(&kv.DeleteRequest{}), codes.InvalidArgument, "", nil, "", "key", "key: is empty"},
			{"long key", get(long), codes.InvalidArgument, "", nil, "", "key", "has 21 bytes, more than 20"},
			{"long prefix", list(&kv.ScanRequest{Prefix: long}), codes.InvalidArgument, "", nil, "", "prefix", "more than 20"},
			{"long after", list(&kv.ScanRequest{After: long}), codes.InvalidArgument, "", nil, "", "after", "more than 20"},
			{"negative limit", list(&kv.ScanRequest{Limit: -1}), codes.InvalidArgument, "", nil, "", "limit", "-1 is negative"},
			{"watch: long prefix", watch(&kv.WatchRequest{Prefix: long}), codes.InvalidArgument, "", nil, "", "prefix", "more than 20"},
			{"watch: negative", watch(&kv.WatchRequest{After: ptr(int64(-1))}), codes.InvalidArgument, "", nil, "", "after", "-1 is negative"},
			{"watch: the future", watch(&kv.WatchRequest{After: ptr(int64(3))}), codes.OutOfRange, kv.ReasonNotKept, map[string]string{"newest": "2"}, "", "", "no version 3 yet"},
			{"no time to live", add(&kv.CreateRequest{Key: []byte("k"), TTL: ptr(time.Duration(0))}), codes.InvalidArgument, "", nil, "", "ttl", "0s is not between"},
			{"negative time to live", update(&kv.UpdateRequest{Key: []byte("k"), TTL: ptr(-time.Second)}), codes.InvalidArgument, "", nil, "", "ttl", "-1s is not between"},
			{"endless time to live", add(&kv.CreateRequest{Key: []byte("k"), TTL: ptr(200 * 365 * 24 * time.Hour)}), codes.InvalidArgument, "", nil, "", "ttl", "is not between"},
			{"no version", update(&kv.UpdateRequest{Key: []byte("there"), IfVersion: ptr(int64(0))}), codes.InvalidArgument, "", nil, "", "if_version", "0 is no version"},
			{"no version to delete", remove(&kv.DeleteRequest{Key: []byte("there"), IfVersion: ptr(int64(-5))}), codes.InvalidArgument, "", nil, "", "if_version", "-5 is no version"},
			{"exists", add(&kv.CreateRequest{Key: []byte("there")}), codes.AlreadyExists, kv.ReasonKeyExists, map[string]string{"version": "1"}, "there", "", `key "there" exists`},
			{"bytes that are no text", add(&kv.CreateRequest{Key: []byte("bin\xff")}), codes.AlreadyExists, kv.ReasonKeyExists, map[string]string{"version": "2"}, `bin\xff`, "", `key "bin\xff" exists`},
			{"retrieve nothing", get([]byte("gone")), codes.NotFound, kv.ReasonKeyNotFound, nil, "gone", "", `key "gone" does not exist`},
			{"update nothing", update(&kv.UpdateRequest{Key: []byte("gone"), IfMatch: ptr("*")}), codes.NotFound, kv.ReasonKeyNotFound, nil, "gone", "", `key "gone" does not exist`},
			{"update another version", update(&kv.UpdateRequest{Key: []byte("there"), IfVersion: ptr(int64(2))}), codes.Aborted, kv.ReasonVersionMismatch, map[string]string{"version": "1"}, "there", "", `"there" has changed: its version is 1`},
			{"delete another version", remove(&kv.DeleteRequest{Key: []byte("there"), IfMatch: ptr(`"7"`)}), codes.Aborted, kv.ReasonVersionMismatch, map[string]string{"version": "1"}, "there", "", "its version is 1"},
			{"two conditions", update(&kv.UpdateRequest{Key: []byte("there"), IfMatch: ptr(`"2"`), IfVersion: ptr(int64(1))}), codes.Aborted, kv.ReasonVersionMismatch, map[string]string{"version": "1"}, "there", "", ""},
			{"match nothing", update(&kv.UpdateRequest{Key: []byte("there"), IfMatch: ptr("")}), codes.Aborted, kv.ReasonVersionMismatch, map[string]string{"version": "1"}, "there", "", ""},
			{"too much", add(&kv.CreateRequest{Key: []byte("big"), Value: []byte(strings.Repeat("v", 800))}), codes.ResourceExhausted, kv.ReasonStoreFull,
				map[string]string{"limit": "1000", "held": "275", "needed": "931"}, "big", "", `the store is full: it holds 275 bytes of at most 1000, and key "big" needs 931 more`},
			{"delete nothing", remove(&kv.DeleteRequest{Key: []byte("gone"), IfVersion: ptr(int64(9))}), codes.OK, "", nil, "", "", ""},
		} {
			code, reason, info, resource, field := details(c.err)
			if code != c.code || reason != c.reason || !maps.Equal(info, c.info) || resource != c.resource || field != c.field {
				t.Errorf("%s: %v, reason %q with %v, resource %q, field %q", c.name, c.err, reason, info, resource, field)
			}
			if text := status.Convert(c.err).Message(); !strings.Contains(text, c.text) {
				t.Errorf("%s: %q, want %q in it", c.name, text, c.text)
			}
		}
	})
}

// A key that is far over the limit does not fill the message.
func TestLongKeyIsCut(t *testing.T) {
	_, err := kv.New(kv.Options{}).Retrieve(t.Context(), &kv.RetrieveRequest{Key: make([]byte, 1<<20)})
	if text := status.Convert(err).Message(); len(text) > 400 || !strings.Contains(text, "has 1048576 bytes, more than 8192") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := kv.New(kv.Options{ReadDelay: 10 * time.Millisecond, WriteDelay: 50 * time.Millisecond})
		key := []byte("k")
		for _, c := range []struct {
			name string
			want time.Duration
			call func() error
		}{
			{"create", 50 * time.Millisecond, func() error { _, err := s.Create(t.Context(), &kv.CreateRequest{Key: key}); return err }},
			{"update", 50 * time.Millisecond, func() error { _, err := s.Update(t.Context(), &kv.UpdateRequest{Key: key}); return err }},
			{"retrieve", 10 * time.Millisecond, func() error { _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: key}); return err }},
			{"scan", 10 * time.Millisecond, func() error { _, _, err := scan(t.Context(), s, &kv.ScanRequest{}); return err }},
			{"delete", 50 * time.Millisecond, func() error { _, err := s.Delete(t.Context(), &kv.DeleteRequest{Key: key}); return err }},
		} {
			start := time.Now()
			if err := c.call(); err != nil || time.Since(start) != c.want {
				t.Errorf("%s took %v, want %v: %v", c.name, time.Since(start), c.want, err)
			}
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := s.Update(ctx, &kv.UpdateRequest{Key: key}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("an update with a short deadline: %v", err)
		}
	})
}

// What a store holds is its own, and what it gives away is shared.
func TestValuesAreCopiedOnce(t *testing.T) {
	s := kv.New(kv.Options{})
	key, value := []byte("k"), []byte("value")
	if _, err := s.Create(t.Context(), &kv.CreateRequest{Key: key, Value: value}); err != nil {
		t.Fatal(err)
	}
	copy(value, "other")
	key[0] = 'x'
	a, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")})
	if err != nil || string(a.Value) != "value" {
		t.Fatalf("got %v, %v", a, err)
	}
	b, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")})
	if err != nil || &a.Value[0] != &b.Value[0] {
		t.Errorf("two replies have two copies: %v", err)
	}
	in := &kv.RetrieveRequest{Key: []byte("k")}
	if n := testing.AllocsPerRun(100, func() { _, _ = s.Retrieve(context.Background(), in) }); n > 1 { // the reply
		t.Errorf("a read allocates %v times", n)
	}
}
