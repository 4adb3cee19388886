package kv_test

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// A watch that comes back goes on where it was, as long as that is kept.
func TestWatchAfter(t *testing.T) {
	onEach(t, kv.Options{History: 4}, func(t *testing.T, s *kv.Store) {
		for i := range 6 {
			create(t, s, fmt.Sprintf("%c%d", "ab"[i%2], i), "v")
		}
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		r := record(ctx, s, &kv.WatchRequest{Prefix: []byte("b"), After: ptr(int64(2)), KeysOnly: true})
		eventually(t, "two events", func() bool { return len(r.seen()) == 2 })
		create(t, s, "b6", "v")
		eventually(t, "the third", func() bool { return len(r.seen()) == 3 })
		for i, want := range []string{"b3", "b5", "b6"} {
			if e := r.seen()[i]; string(e.Key) != want || e.Value != nil || e.Kind != "create" {
				t.Errorf("event %d is %v, want %s", i, e, want)
			}
		}
		cancel()
		<-r.ended
		if status.Code(r.err) != codes.Canceled {
			t.Errorf("the watch ended with %v", r.err)
		}
		old := record(t.Context(), s, &kv.WatchRequest{After: ptr(int64(2))})
		<-old.ended
		if code, reason, info, _, _ := details(old.err); code != codes.OutOfRange || reason != kv.ReasonNotKept || info["oldest"] != "4" || info["newest"] != "7" {
			t.Errorf("what is not kept any more: %v, %v", old.err, info)
		}
	})
}

// What is kept for watchers is bounded by bytes, too, and the last change is
// kept whatever its size.
func TestHistoryBytes(t *testing.T) {
	s := kv.New(kv.Options{HistoryBytes: 1000})
	create(t, s, "small", "v")
	create(t, s, "large", strings.Repeat("v", 2000))
	r := record(t.Context(), s, &kv.WatchRequest{After: ptr(int64(0))})
	<-r.ended
	if code, _, info, _, _ := details(r.err); code != codes.OutOfRange || info["oldest"] != "2" {
		t.Errorf("%v, %v", r.err, info)
	}
}

// A watcher that does not read is let go, and told where to go on. Nobody waits
// for it, and what it has not read is not kept for it.
func TestSlowWatcher(t *testing.T) {
	for _, c := range []struct {
		name    string
		changes int
		reason  map[string]string
	}{
		// One change is on its way to the client, and a watcher takes all that
		// are there when it comes for more.
		{"may go on", 30, map[string]string{"resume_after": "1"}},
		{"has missed changes", 200, map[string]string{"sent": "1", "oldest": "102"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s := kv.New(kv.Options{History: 100, MaxLag: 20})
				reads := make(chan struct{})
				st := &beginning[kv.Event]{stream: stream[kv.Event]{ctx: t.Context(), send: func(*kv.Event) error { <-reads; return nil }}, ready: make(chan struct{})}
				ended := make(chan error)
				go func() { ended <- s.Watch(&kv.WatchRequest{}, st) }()
				<-st.ready
				synctest.Wait()
				create(t, s, "first", "v")
				synctest.Wait() // it is on its way
				for i := range c.changes {
					create(t, s, strconv.Itoa(i), "v")
				}
				close(reads)
				err := <-ended
				code, reason, info, _, _ := details(err)
				if code != codes.ResourceExhausted || reason != kv.ReasonTooSlow || fmt.Sprint(info) != fmt.Sprint(c.reason) {
					t.Errorf("%v, %v", err, info)
				}
				if after := info["resume_after"]; after != "" {
					ctx, cancel := context.WithCancel(t.Context())
					r := record(ctx, s, &kv.WatchRequest{After: ptr(int64(1))})
					synctest.Wait()
					if len(r.seen()) != c.changes {
						t.Errorf("%d events after the one that was sent, want %d", len(r.seen()), c.changes)
					}
					cancel()
					<-r.ended
				}
			})
		})
	}
}

// A watch ends when the store is stopped, and so does the sweep when it is
// closed.
func TestStop(t *testing.T) {
	onEach(t, kv.Options{}, func(t *testing.T, s *kv.Store) {
		r := record(t.Context(), s, &kv.WatchRequest{})
		if _, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte("k"), TTL: ptr(time.Hour)}); err != nil {
			t.Fatal(err)
		}
		s.Stop()
		<-r.ended
		if code, reason, _, _, _ := details(r.err); code != codes.Unavailable || reason != kv.ReasonClosed {
			t.Errorf("the watch ended with %v", r.err)
		}
		create(t, s, "other", "calls still work")
		if err := s.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := s.Delete(t.Context(), &kv.DeleteRequest{Key: []byte("k")}); status.Code(err) != codes.Unavailable {
			t.Errorf("a change of a closed store: %v", err)
		}
		if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")}); err != nil {
			t.Errorf("a read of a closed store: %v", err)
		}
	})
}

// A scan shows one moment, whatever changes meanwhile, and in the middle of it
// everything can change: it holds nothing.
func TestScanIsOneMoment(t *testing.T) {
	onEach(t, kv.Options{}, func(t *testing.T, s *kv.Store) {
		const n = 200
		for i := range n {
			create(t, s, fmt.Sprintf("%03d", i), "before")
		}
		seen := 0
		st := &stream[kv.Entry]{ctx: t.Context(), send: func(e *kv.Entry) error {
			if string(e.Key) != fmt.Sprintf("%03d", seen) || string(e.Value) != "before" {
				return fmt.Errorf("found %q of %q", e.Value, e.Key)
			}
			if seen%50 == 0 {
				create(t, s, fmt.Sprintf("%03dx", seen), "after")
				if _, err := s.Delete(t.Context(), &kv.DeleteRequest{Key: fmt.Appendf(nil, "%03d", n-1-seen)}); err != nil {
					return err
				}
				if _, err := s.Update(t.Context(), &kv.UpdateRequest{Key: fmt.Appendf(nil, "%03d", seen+1), Value: []byte("after")}); err != nil {
					return err
				}
			}
			seen++
			return nil
		}}
		if err := s.Scan(&kv.ScanRequest{}, st); err != nil || seen != n {
			t.Errorf("%d keys, %v", seen, err)
		}
		if st.version() != strconv.Itoa(n) {
			t.Errorf("the scan says that it is of version %s", st.version())
		}
		// Its client ends it.
		gone := errors.New("gone")
		if err := s.Scan(&kv.ScanRequest{}, &stream[kv.Entry]{ctx: t.Context(), send: func(*kv.Entry) error { return gone }}); !errors.Is(err, gone) {
			t.Errorf("a client that is gone: %v", err)
		}
	})
}

// A scan that takes so long that it makes the store hold much is ended, and told
// where to go on.
func TestStaleScan(t *testing.T) {
	s := kv.New(kv.Options{MaxStale: 10000})
	for i := range 100 {
		create(t, s, fmt.Sprintf("%03d", i), "v")
	}
	var last []byte
	err := s.Scan(&kv.ScanRequest{}, &stream[kv.Entry]{ctx: t.Context(), send: func(e *kv.Entry) error {
		if last == nil {
			for range 100 {
				if _, err := s.Update(t.Context(), &kv.UpdateRequest{Key: []byte("000")}); err != nil {
					return err
				}
			}
		}
		last = e.Key
		return nil
	}})
	code, reason, info, _, _ := details(err)
	after, _ := base64.StdEncoding.DecodeString(info["resume_after"])
	if code != codes.Aborted || reason != kv.ReasonTooSlow || string(after) != string(last) || string(last) != "063" {
		t.Errorf("after %q: %v, %v", last, err, info)
	}
	rest, _, err := scan(t.Context(), s, &kv.ScanRequest{After: after})
	if err != nil || len(rest) != 36 || string(rest[0].Key) != "064" {
		t.Errorf("the rest has %d keys, %v", len(rest), err)
	}
}

// Time under test: reads see what has expired at once, and the sweep removes it.
func TestExpiry(t *testing.T) {
	for _, e := range engines {
		t.Run(e.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				dir := t.TempDir()
				s := e.start(t, dir, kv.Options{MaxBytes: 1000})
				out, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte("k"), TTL: ptr(time.Minute)})
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(time.Minute - time.Nanosecond)
				if got, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")}); err != nil || got.Version != out.Version || time.Until(*got.Expires) != time.Nanosecond {
					t.Errorf("just before its end: %v, %v", got, err)
				}
				time.Sleep(time.Nanosecond)
				if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")}); status.Code(err) != codes.NotFound {
					t.Errorf("at its end: %v", err)
				}
				// Many at once are more than one sweep takes.
				s2 := e.start(t, t.TempDir(), kv.Options{})
				for i := range 300 {
					if _, err := s2.Create(t.Context(), &kv.CreateRequest{Key: fmt.Append(nil, i), TTL: ptr(time.Until(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)))}); err != nil {
						t.Fatal(err)
					}
				}
				time.Sleep(time.Until(time.Date(2000, 1, 2, 0, 0, 0, 0, time.UTC)))
				synctest.Wait()
				if _, version, err := scan(t.Context(), s2, &kv.ScanRequest{}); err != nil || version != "600" {
					t.Errorf("after the sweep the version is %s, %v", version, err)
				}
			})
		})
	}
}
