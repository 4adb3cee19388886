package kv_test

import (
	"context"
	"encoding/binary"
	"fmt"
	"maps"
	"math/rand/v2"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// Writers, readers, scans and watchers at once. What any of them sees must be
// one history: the versions order all changes, no reader goes back in it, what a
// call was answered is seen by every later one, and a scan shows the state at
// its version exactly.
func TestStress(t *testing.T) {
	onEach(t, kv.Options{History: 1 << 20, HistoryBytes: 1 << 30, MaxStale: 1 << 40}, func(t *testing.T, s *kv.Store) {
		const (
			shared  = 4 // counters that all writers add to, by compare and swap
			writers = 8
			adds    = 20
			own     = 60
		)
		for i := range shared {
			create(t, s, fmt.Sprintf("shared-%d", i), string(make([]byte, 8)))
		}
		first := int64(shared)
		ctx, cancel := context.WithCancel(t.Context())
		watched := record(ctx, s, &kv.WatchRequest{})

		var writing, looking sync.WaitGroup
		for w := range writers {
			writing.Go(func() {
				random := rand.New(rand.NewPCG(1, uint64(w)))
				for range adds {
					add(t, s, []byte(fmt.Sprintf("shared-%d", random.IntN(shared))))
				}
				churn(t, s, random, fmt.Sprintf("own-%d-", w), own)
			})
		}
		type shot struct {
			version int64
			found   map[string]int64
		}
		shots := make([][]shot, 2)
		for i := range shots {
			looking.Go(func() {
				for ctx.Err() == nil {
					found, version, err := scan(context.Background(), s, &kv.ScanRequest{})
					if err != nil {
						t.Errorf("scan: %v", err)
						return
					}
					sh := shot{found: map[string]int64{}}
					sh.version, _ = strconv.ParseInt(version, 10, 64)
					for _, e := range found {
						sh.found[string(e.Key)] = e.Version
					}
					if shots[i] = append(shots[i], sh); len(shots[i]) == 200 {
						return
					}
					runtime.Gosched()
				}
			})
		}
		for i := range 4 {
			looking.Go(func() {
				random := rand.New(rand.NewPCG(2, uint64(i)))
				last := map[int]*kv.RetrieveResponse{}
				for ctx.Err() == nil {
					n := random.IntN(shared)
					out, err := s.Retrieve(context.Background(), &kv.RetrieveRequest{Key: []byte(fmt.Sprintf("shared-%d", n))})
					if err != nil {
						t.Errorf("retrieve: %v", err)
						return
					}
					if l := last[n]; l != nil && (out.Version < l.Version || out.Version == l.Version != (count(out.Value) == count(l.Value))) {
						t.Errorf("shared-%d was %d of version %d, and then %d of version %d", n, count(l.Value), l.Version, count(out.Value), out.Version)
					}
					last[n] = out
					runtime.Gosched() // a writer that was woken comes next, not after a slice of time
				}
			})
		}
		writing.Wait()
		_, version, err := scan(t.Context(), s, &kv.ScanRequest{})
		if err != nil {
			t.Fatal(err)
		}
		end, _ := strconv.ParseInt(version, 10, 64)
		eventually(t, "the watcher is told of the last change", func() bool { return int64(len(watched.seen())) == end-first })
		cancel()
		looking.Wait()
		<-watched.ended

		// The states of all versions, from what the watcher was told.
		at := map[int64]map[string]int64{}
		now, total := map[string]int64{}, uint64(0)
		for i := range shared {
			now[fmt.Sprintf("shared-%d", i)] = int64(i + 1)
		}
		for _, sh := range append(shots[0], shots[1]...) {
			at[sh.version] = nil
		}
		if _, ok := at[first]; ok {
			at[first] = maps.Clone(now)
		}
		counts := map[string]uint64{}
		for i, e := range watched.seen() {
			if e.Version != first+int64(i)+1 {
				t.Fatalf("event %d has version %d", i, e.Version)
			}
			if e.Kind == "delete" {
				delete(now, string(e.Key))
			} else {
				now[string(e.Key)] = e.Version
			}
			if strings.HasPrefix(string(e.Key), "shared-") {
				if counts[string(e.Key)]++; count(e.Value) != counts[string(e.Key)] {
					t.Errorf("change %d of %s made it %d", counts[string(e.Key)], e.Key, count(e.Value))
				}
				total++
			}
			if _, ok := at[e.Version]; ok {
				at[e.Version] = maps.Clone(now)
			}
		}
		if total != writers*adds {
			t.Errorf("the counters got %d, want %d", total, writers*adds)
		}
		for _, sh := range append(shots[0], shots[1]...) {
			if !maps.Equal(sh.found, at[sh.version]) {
				t.Fatalf("a scan of version %d found %v, want %v", sh.version, sh.found, at[sh.version])
			}
		}
	})
}

func count(value []byte) uint64 { return binary.BigEndian.Uint64(value) }

// add adds one to a counter, by compare and swap.
func add(t *testing.T, s *kv.Store, key []byte) {
	for {
		old, err := s.Retrieve(context.Background(), &kv.RetrieveRequest{Key: key})
		if err != nil {
			t.Errorf("retrieve: %v", err)
			return
		}
		value := binary.BigEndian.AppendUint64(nil, count(old.Value)+1)
		out, err := s.Update(context.Background(), &kv.UpdateRequest{Key: key, Value: value, IfVersion: &old.Version})
		if status.Code(err) == codes.Aborted {
			continue
		}
		if err != nil {
			t.Errorf("update: %v", err)
			return
		}
		if now, err := s.Retrieve(context.Background(), &kv.RetrieveRequest{Key: key}); err != nil || now.Version < out.Version {
			t.Errorf("version %d was answered, and then there is %v, %v", out.Version, now, err)
		}
		return
	}
}

// churn changes keys that nobody else changes, and knows what is there.
func churn(t *testing.T, s *kv.Store, random *rand.Rand, prefix string, n int) {
	ctx := context.Background()
	known := map[string]int64{}
	for range n {
		key := fmt.Sprintf("%s%d", prefix, random.IntN(20))
		value := []byte(key)
		version, there := known[key]
		switch out, err := s.Retrieve(ctx, &kv.RetrieveRequest{Key: []byte(key)}); {
		case !there && status.Code(err) != codes.NotFound, there && (err != nil || out.Version != version || string(out.Value) != key):
			t.Errorf("%s is %v, %v, want version %d", key, out, err, version)
			return
		}
		var err error
		switch {
		case !there:
			var out *kv.CreateResponse
			if out, err = s.Create(ctx, &kv.CreateRequest{Key: []byte(key), Value: value}); err == nil {
				known[key] = out.Version
			}
		case random.IntN(2) == 0:
			var out *kv.UpdateResponse
			if out, err = s.Update(ctx, &kv.UpdateRequest{Key: []byte(key), Value: value}); err == nil {
				known[key] = out.Version
			}
		default:
			if _, err = s.Delete(ctx, &kv.DeleteRequest{Key: []byte(key), IfVersion: &version}); err == nil {
				delete(known, key)
			}
		}
		if err != nil {
			t.Errorf("%s: %v", key, err)
			return
		}
	}
}
