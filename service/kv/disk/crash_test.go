package disk

import (
	"bufio"
	"context"
	"encoding/binary"
	"flag"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// How often the process is killed; .ci/long does it 50 times.
var crashes = flag.Int("crashes", 5, "how often TestCrash kills a process that writes")

// childEnv has the folder in the environment of the process that is killed.
const childEnv = "KV_DISK_CRASH_DIR"

const (
	writers  = 64
	ownKeys  = 3 // that each writer changes alone
	counters = 4 // that all add to
)

// TestCrash kills a process in the middle of its writes, and looks whether all
// that it was answered is there, and nothing but what it asked for. The file goes
// from one crash to the next.
//
// The process says on its standard output what it is about to do, "?", and what
// it was answered, "!". Whatever of that reached the pipe came before the kill.
func TestCrash(t *testing.T) {
	dir := t.TempDir()
	known := newHistory()
	random := rand.New(rand.NewPCG(uint64(os.Getpid()), 0))
	for i := range *crashes {
		known.killed(t, dir, 200+random.IntN(600))
		known.check(t, dir)
		if t.Failed() {
			t.Fatalf("after crash %d", i+1)
		}
	}
	t.Logf("%d changes were answered", known.answers)
}

// killed runs the process until it was answered a number of times.
func (h *history) killed(t *testing.T, dir string, answers int) {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), childEnv+"="+dir)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	until, ended := h.answers+answers, false
	lines := bufio.NewReader(out)
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			if !ended {
				t.Errorf("the process ended by itself: %v", err)
			}
			break // what follows the last line end was not all written
		}
		h.read(t, line)
		if h.answers == until && !ended {
			ended = true
			if err := cmd.Process.Kill(); err != nil {
				t.Error(err)
			}
		}
	}
	if err := cmd.Wait(); err == nil {
		t.Error("the process was not killed")
	}
	if t.Failed() {
		t.FailNow()
	}
}

// A history is what is known of each key: what was answered, and what was asked
// for since, of which nobody knows.
type history struct {
	answers int
	sure    map[string]entry
	unsure  map[string]entry
	// Of the counters: the highest that was answered, and what was asked.
	counted map[string]uint64
	asked   map[string]uint64
}

// An entry is a value, told by a number, and its version; zero is no key.
type entry struct {
	number  uint64
	version int64
}

func newHistory() *history {
	return &history{sure: map[string]entry{}, unsure: map[string]entry{}, counted: map[string]uint64{}, asked: map[string]uint64{}}
}

func (h *history) read(t *testing.T, line string) {
	var mark, key string
	var e entry
	if n, err := fmt.Sscanf(line, "%s %s %d %d\n", &mark, &key, &e.number, &e.version); n != 4 {
		t.Fatalf("the process said %q: %v", line, err)
	}
	isCounter := strings.HasPrefix(key, "counter")
	switch {
	case mark == "?" && isCounter:
		h.asked[key] = max(h.asked[key], e.number)
	case mark == "?":
		h.unsure[key] = e
	case isCounter:
		h.answers++
		h.counted[key] = max(h.counted[key], e.number)
	default:
		h.answers++
		h.sure[key] = e
		delete(h.unsure, key)
	}
}

// check opens what is left, and makes it what is known from here on.
func (h *history) check(t *testing.T, dir string) {
	s := open(t, dir)
	found := map[string]*kv.RetrieveResponse{}
	for i := range writers {
		for j := range ownKeys {
			look(t, s, ownKey(i, j), found)
		}
	}
	for i := range counters {
		look(t, s, counterKey(i), found)
	}
	for key, out := range found {
		var now entry
		if out != nil {
			number, ok := numberOf(out.Value, key)
			if !ok {
				t.Errorf("%s has a value that nobody stored: %d bytes", key, len(out.Value))
			}
			now = entry{number, out.Version}
		}
		if strings.HasPrefix(key, "counter") {
			if now.number < h.counted[key] || now.number > h.asked[key] {
				t.Errorf("%s is %d: %d was answered and at most %d asked for", key, now.number, h.counted[key], h.asked[key])
			}
			h.counted[key] = now.number
			continue
		}
		sure, unsure := h.sure[key], h.unsure[key]
		_, asked := h.unsure[key]
		if now != sure && (!asked || now.number != unsure.number) {
			t.Errorf("%s is %v: %v was answered, and %v (%v) asked for since", key, now, sure, unsure, asked)
		}
		h.sure[key] = now
		delete(h.unsure, key)
	}
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	if files, err := filepath.Glob(filepath.Join(dir, "*")); err != nil || len(files) != 1 {
		t.Errorf("the folder has %q, %v", files, err)
	}
}

func look(t *testing.T, s *kv.Store, key string, found map[string]*kv.RetrieveResponse) {
	out, err := s.Retrieve(t.Context(), &kv.RetrieveRequest{Key: []byte(key)})
	if err != nil && status.Code(err) != codes.NotFound {
		t.Error(err)
	}
	found[key] = out
}

func ownKey(writer, i int) string { return fmt.Sprintf("own-%d-%d", writer, i) }
func counterKey(i int) string     { return fmt.Sprintf("counter-%d", i) }

// valueOf is a value that says its number and has the marks of it all over, so
// that half of one is not taken for a whole one.
func valueOf(number uint64, key string) []byte {
	value := binary.BigEndian.AppendUint64(nil, number)
	mark := markOf(number, key)
	for range mark % 4000 / 8 {
		value = binary.BigEndian.AppendUint64(value, mark)
	}
	return value
}

func markOf(number uint64, key string) uint64 {
	h := fnv.New64a()
	fmt.Fprint(h, number, key)
	return h.Sum64()
}

func numberOf(value []byte, key string) (uint64, bool) {
	if len(value) < 8 {
		return 0, false
	}
	number := binary.BigEndian.Uint64(value)
	return number, string(value) == string(valueOf(number, key))
}

// child is the process that is killed.
func child(dir string) {
	db, err := Open(dir)
	var s *kv.Store
	if err == nil {
		s, err = kv.Open(kv.Options{}, db)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	for i := range writers {
		go write(s, i)
	}
	for i := range counters { // they may be there from the time before
		key := counterKey(i)
		say("?", key, entry{number: 0})
		_, _ = s.Create(context.Background(), &kv.CreateRequest{Key: []byte(key), Value: valueOf(0, key)})
	}
	select {}
}

// say writes a line, with one call, so that lines do not mix.
func say(mark, key string, e entry) {
	_, _ = fmt.Fprintf(os.Stdout, "%s %s %d %d\n", mark, key, e.number, e.version)
}

// write creates, updates and deletes until the process ends.
func write(s *kv.Store, writer int) {
	ctx := context.Background()
	random := rand.New(rand.NewPCG(rand.Uint64(), uint64(writer)))
	for number := random.Uint64() >> 1; ; number++ {
		if random.IntN(4) == 0 {
			count(ctx, s, counterKey(random.IntN(counters)))
			continue
		}
		key := ownKey(writer, random.IntN(ownKeys))
		old, err := s.Retrieve(ctx, &kv.RetrieveRequest{Key: []byte(key)})
		asked := entry{number: number}
		switch {
		case err != nil:
			say("?", key, asked)
			var out *kv.CreateResponse
			if out, err = s.Create(ctx, &kv.CreateRequest{Key: []byte(key), Value: valueOf(number, key)}); err == nil {
				asked.version = out.Version
			}
		case random.IntN(3) == 0:
			asked = entry{}
			say("?", key, asked)
			_, err = s.Delete(ctx, &kv.DeleteRequest{Key: []byte(key), IfVersion: &old.Version})
		default:
			say("?", key, asked)
			var out *kv.UpdateResponse
			if out, err = s.Update(ctx, &kv.UpdateRequest{Key: []byte(key), Value: valueOf(number, key), IfVersion: &old.Version}); err == nil {
				asked.version = out.Version
			}
		}
		if err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
		say("!", key, asked)
	}
}

// count adds one to a counter, or does nothing if another was faster.
func count(ctx context.Context, s *kv.Store, key string) {
	old, err := s.Retrieve(ctx, &kv.RetrieveRequest{Key: []byte(key)})
	if err != nil {
		return // not created yet
	}
	number, _ := numberOf(old.Value, key)
	number++
	say("?", key, entry{number: number})
	if _, err := s.Update(ctx, &kv.UpdateRequest{Key: []byte(key), Value: valueOf(number, key), IfVersion: &old.Version}); err == nil {
		say("!", key, entry{number: number})
	}
}
