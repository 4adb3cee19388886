package kv_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// A fake is a Durable that a test holds in its hand.
type fake struct {
	commit func([]kv.Change) error
	closed bool

	mu     sync.Mutex
	groups []string // the keys of each group that was tried
}

func (*fake) Load(func(*kv.Item)) (int64, error) { return 0, nil }
func (f *fake) Close() error                     { f.closed = true; return nil }

func (f *fake) Commit(changes []kv.Change) error {
	var keys []string
	for _, c := range changes {
		keys = append(keys, string(c.Item.Key))
	}
	slices.Sort(keys)
	f.mu.Lock()
	f.groups = append(f.groups, strings.Join(keys, " "))
	f.mu.Unlock()
	return f.commit(changes)
}

func startFake(t *testing.T, f *fake) *kv.Store {
	s, err := kv.Open(kv.Options{}, f)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil || !f.closed {
			t.Errorf("closed %v: %v", f.closed, err)
		}
	})
	return s
}

func (f *fake) tried() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.groups
}

// Changes that come while one is written are one group, and nobody sees any
// before it is written. Readers do not wait.
func TestGroupCommit(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan error)
		f := &fake{commit: func([]kv.Change) error { return <-written }}
		s := startFake(t, f)
		answers := make(chan error, 10)
		for i := range 4 {
			go func() {
				_, err := s.Create(t.Context(), &kv.CreateRequest{Key: fmt.Append(nil, i)})
				answers <- err
			}()
			synctest.Wait()
		}
		there := func() (n int) {
			for i := range 4 {
				if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: fmt.Append(nil, i)}); err == nil {
					n++
				}
			}
			return n
		}
		for i, want := range []int{1, 4} {
			if len(answers) != 0 || there() != want-[]int{1, 3}[i] {
				t.Errorf("before group %d is written %d calls are answered and %d keys seen", i, len(answers), there())
			}
			written <- nil
			synctest.Wait()
			if there() != want {
				t.Errorf("when group %d is written %d keys are seen, want %d", i, there(), want)
			}
			for range []int{1, 3}[i] {
				if err := <-answers; err != nil {
					t.Error(err)
				}
			}
		}
		if want := []string{"0", "1 2 3"}; !slices.Equal(f.tried(), want) {
			t.Errorf("the groups were %q, want %q", f.tried(), want)
		}
	})
}

// A group that the disk has no room for is tried one by one: what fits, is
// stored.
func TestGroupWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		begin := make(chan struct{})
		f := &fake{commit: func(changes []kv.Change) error {
			<-begin
			for _, c := range changes {
				if len(c.Item.Value) > 100 {
					return fmt.Errorf("%w: full", kv.ErrNoSpace)
				}
			}
			return nil
		}}
		s := startFake(t, f)
		codesOf := make([]codes.Code, 4)
		for i, size := range []int{1, 5, 500, 6} {
			go func() {
				_, err := s.Create(t.Context(), &kv.CreateRequest{Key: fmt.Append(nil, i), Value: make([]byte, size)})
				codesOf[i] = status.Code(err)
			}()
			synctest.Wait()
		}
		close(begin)
		synctest.Wait()
		if want := []codes.Code{codes.OK, codes.OK, codes.ResourceExhausted, codes.OK}; !slices.Equal(codesOf, want) {
			t.Errorf("the calls got %v, want %v", codesOf, want)
		}
		if want := []string{"0", "1 2 3", "1", "2", "3"}; !slices.Equal(f.tried(), want) {
			t.Errorf("the groups were %q, want %q", f.tried(), want)
		}
		if _, version, err := scan(t.Context(), s, &kv.ScanRequest{}); err != nil || version != "3" {
			t.Errorf("the version is %s, %v: numbers have gaps", version, err)
		}
	})
}

// A disk that fails otherwise is not trusted with another change; what was there
// can be read.
func TestBrokenDisk(t *testing.T) {
	broken := errors.New("input/output error")
	var fail error
	s := startFake(t, &fake{commit: func([]kv.Change) error { return fail }})
	create(t, s, "before", "v")
	fail = broken
	_, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte("k")})
	code, reason, _, resource, _ := details(err)
	if code != codes.Internal || reason != kv.ReasonDiskFailed || resource != "k" || !strings.Contains(err.Error(), broken.Error()) {
		t.Errorf("the first: %v", err)
	}
	fail = nil
	_, err = s.Delete(t.Context(), &kv.DeleteRequest{Key: []byte("before")})
	if code, reason, _, _, _ := details(err); code != codes.Internal || reason != kv.ReasonDiskFailed {
		t.Errorf("the next: %v", err)
	}
	if out, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("before")}); err != nil || string(out.Value) != "v" {
		t.Errorf("a read: %v, %v", out, err)
	}
	if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")}); status.Code(err) != codes.NotFound {
		t.Errorf("what may not be stored is seen: %v", err)
	}
}

// Nobody is answered by a group that the disk has lost: that a key was gone is
// as unknown as its removal.
func TestBrokenGroup(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		written := make(chan error)
		s := startFake(t, &fake{commit: func([]kv.Change) error { return <-written }})
		go func() { written <- nil }()
		create(t, s, "k", "v")
		errs := make([]error, 3)
		for i, call := range []func() error{
			func() error { _, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte("first")}); return err },
			func() error { _, err := s.Delete(t.Context(), &kv.DeleteRequest{Key: []byte("k")}); return err },
			func() error { _, err := s.Update(t.Context(), &kv.UpdateRequest{Key: []byte("k")}); return err },
		} {
			go func() { errs[i] = call() }()
			synctest.Wait()
		}
		written <- nil
		written <- errors.New("input/output error")
		synctest.Wait()
		if errs[0] != nil {
			t.Error(errs[0])
		}
		for _, err := range errs[1:] {
			if code, reason, _, _, _ := details(err); code != codes.Internal || reason != kv.ReasonDiskFailed {
				t.Errorf("got %v", err)
			}
		}
	})
}

// A group is small beside what is kept for watchers: one who keeps up misses
// nothing of it.
func TestGroupsAreWatched(t *testing.T) {
	const n = 60
	for name, opts := range map[string]kv.Options{
		"by changes": {History: 20},
		"by bytes":   {HistoryBytes: 20 << 10},
	} {
		synctest.Test(t, func(t *testing.T) {
			begin := make(chan struct{})
			f := &fake{commit: func([]kv.Change) error {
				<-begin
				time.Sleep(time.Nanosecond) // until the watcher has taken what there was
				return nil
			}}
			s, err := kv.Open(opts, f)
			if err != nil {
				t.Fatal(err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			r := record(ctx, s, &kv.WatchRequest{})
			var writing sync.WaitGroup
			for i := range n {
				writing.Go(func() {
					if _, err := s.Create(t.Context(), &kv.CreateRequest{Key: fmt.Append(nil, i), Value: make([]byte, 1<<10-200)}); err != nil {
						t.Error(err)
					}
				})
			}
			synctest.Wait()
			close(begin)
			writing.Wait()
			synctest.Wait()
			if got := len(r.seen()); got != n {
				t.Errorf("%s: the watcher was told of %d changes, want %d; it ended with %v", name, got, n, r.err)
			}
			cancel()
			<-r.ended
			if err := s.Close(); err != nil {
				t.Error(err)
			}
		})
	}
}

// A sweep that finds no room tries again, and the key is not seen meanwhile.
func TestSweepWithoutRoom(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var full atomic.Bool // the sweep is a goroutine of its own
		f := &fake{commit: func([]kv.Change) error {
			if full.Load() {
				return kv.ErrNoSpace
			}
			return nil
		}}
		s := startFake(t, f)
		if _, err := s.Create(t.Context(), &kv.CreateRequest{Key: []byte("k"), TTL: ptr(time.Second)}); err != nil {
			t.Fatal(err)
		}
		full.Store(true)
		time.Sleep(3500 * time.Millisecond)
		synctest.Wait()
		if _, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte("k")}); status.Code(err) != codes.NotFound {
			t.Errorf("an expired key: %v", err)
		}
		if len(f.tried()) != 4 { // the create, and sweeps after 1, 2 and 3 seconds
			t.Errorf("%d groups were tried", len(f.tried()))
		}
		full.Store(false)
		time.Sleep(time.Second)
		synctest.Wait()
		if _, version, err := scan(t.Context(), s, &kv.ScanRequest{}); err != nil || version != "2" {
			t.Errorf("the version is %s, %v", version, err)
		}
	})
}
