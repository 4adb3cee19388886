package load

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire/service/kv"
)

// kvConn calls a store without a wire.
type kvConn struct {
	store *kv.Store
	// spoil may change a reply, or make the call fail after it was made.
	spoil func(path string, out any) error
}

func (c *kvConn) Invoke(ctx context.Context, path string, in, out any, _ ...grpc.CallOption) error {
	var err error
	switch in := in.(type) {
	case *kv.CreateRequest:
		err = reply(out.(*kv.CreateResponse), func() (*kv.CreateResponse, error) { return c.store.Create(ctx, in) })
	case *kv.RetrieveRequest:
		err = reply(out.(*kv.RetrieveResponse), func() (*kv.RetrieveResponse, error) { return c.store.Retrieve(ctx, in) })
	case *kv.UpdateRequest:
		err = reply(out.(*kv.UpdateResponse), func() (*kv.UpdateResponse, error) { return c.store.Update(ctx, in) })
	case *kv.DeleteRequest:
		err = reply(out.(*kv.DeleteResponse), func() (*kv.DeleteResponse, error) { return c.store.Delete(ctx, in) })
	}
	if err == nil && c.spoil != nil {
		err = c.spoil(path, out)
	}
	return err
}

func (*kvConn) NewStream(context.Context, *grpc.StreamDesc, string, ...grpc.CallOption) (grpc.ClientStream, error) {
	return nil, status.Error(codes.Unimplemented, "no streams")
}

func reply[T any](to *T, call func() (*T, error)) error {
	out, err := call()
	if err == nil {
		*to = *out
	}
	return err
}

// The mix is the article's: operations and sizes, and a bound on what is held.
func TestKVMix(t *testing.T) {
	const calls = 6000
	conn := &kvConn{store: kv.New(kv.Options{})}
	c := KV(KVMix{}).Caller(7, 0).(*kvCaller)
	made := map[string]int{}
	var keys, values, stored float64
	for range calls {
		path, in, out := c.Next()
		made[path[strings.LastIndexByte(path, '/')+1:]]++
		switch in := in.(type) {
		case *kv.CreateRequest:
			keys += float64(len(in.Key))
			values += float64(len(in.Value))
			stored++
		case *kv.UpdateRequest:
			values += float64(len(in.Value))
			stored++
		}
		if err := conn.Invoke(t.Context(), path, in, out); err != nil {
			t.Fatal(err)
		}
		if wrong := c.Check(); wrong != "" {
			t.Fatal(wrong)
		}
		if c.held > c.mix.Held+c.mix.MaxValue {
			t.Fatalf("%d bytes are held", c.held)
		}
	}
	for _, operation := range []string{"Create", "Retrieve", "Update", "Delete"} {
		if got := float64(made[operation]) / calls; math.Abs(got-0.25) > 0.04 {
			t.Errorf("%s is %v of the calls, want about a quarter: %v", operation, got, made)
		}
	}
	if mean := keys / float64(made["Create"]); math.Abs(mean-65.5) > 5 {
		t.Errorf("keys have %v bytes, want 65", mean)
	}
	if mean := values / stored; math.Abs(mean-65537) > 3000 {
		t.Errorf("values have %v bytes, want 65537", mean)
	}
}

// The same seed makes the same calls, another one others; callers and runs
// share no key.
func TestKVSeeds(t *testing.T) {
	trace := func(w Workload, seed uint64, i int) (all []string) {
		c := w.Caller(seed, i)
		for range 200 {
			path, in, out := c.Next()
			all = append(all, fmt.Sprintf("%s %.80x", path, in))
			answer(out)
			if wrong := c.Check(); wrong != "" && !strings.Contains(wrong, "another value") {
				t.Fatal(wrong)
			}
		}
		return all
	}
	w := KV(KVMix{})
	a, b := trace(w, 1, 0), trace(KV(KVMix{}), 1, 0)
	if strings.Join(a, "\n") != strings.Join(b, "\n") {
		t.Error("the same seed makes other calls")
	}
	for name, other := range map[string][]string{"seed": trace(w, 2, 0), "caller": trace(w, 1, 1), "run": trace(w, 1, 0)} {
		for i := range a {
			if strings.HasSuffix(a[i], "Create") && a[i] == other[i] {
				t.Errorf("another %s makes the same call: %s", name, a[i])
			}
		}
	}
}

// answer gives a reply that nobody stored.
func answer(out any) {
	answers.Lock()
	defer answers.Unlock()
	answers.version++
	switch out := out.(type) {
	case *kv.CreateResponse:
		out.Version = answers.version
	case *kv.UpdateResponse:
		out.Version = answers.version
	}
}

var answers struct {
	sync.Mutex
	version int64
}

// Callers at once, on one store: all is right. Then a reply that is not: it is
// seen, and so is a key that should be there. What is not known is not asked for.
func TestKVLoad(t *testing.T) {
	good := &kvConn{store: kv.New(kv.Options{MaxBytes: 64 << 20})}
	w := KV(KVMix{ValueMean: 1000, Held: 100 << 10})
	for range 2 { // the second run finds the keys of the first
		r, err := Run(t.Context(), Config{Conn: good, Workload: w, Callers: 16, For: 100 * time.Millisecond})
		if err != nil || r.Errors != nil || r.Latency.Count() == 0 {
			t.Fatalf("%d calls: %+v, %v", r.Latency.Count(), r, err)
		}
	}
	for _, c := range []struct {
		name  string
		spoil func(path string, out any) error
		kind  string
		text  string
	}{
		{"another value", func(_ string, out any) error {
			if out, ok := out.(*kv.RetrieveResponse); ok {
				out.Value = append([]byte("x"), out.Value[1:]...)
			}
			return nil
		}, WrongReply, "has another value"},
		{"an older version", func(_ string, out any) error {
			if out, ok := out.(*kv.RetrieveResponse); ok {
				out.Version--
			}
			return nil
		}, WrongReply, "want"},
		{"no version", func(_ string, out any) error {
			if out, ok := out.(*kv.UpdateResponse); ok {
				out.Version = 0
			}
			return nil
		}, WrongReply, "has version 0 after version"},
		{"lost answers", func(string, any) error { return errors.New("lost") }, "UNKNOWN", "lost"},
	} {
		conn := &kvConn{store: kv.New(kv.Options{}), spoil: c.spoil}
		r, err := Run(t.Context(), Config{Conn: conn, Workload: KV(KVMix{ValueMean: 1000}), Callers: 1, For: 20 * time.Millisecond})
		if err != nil || r.Errors[c.kind] == 0 || len(r.Errors) != 1 || !strings.Contains(r.FirstError, c.text) {
			t.Errorf("%s: %+v, %v", c.name, r.Errors, err)
		}
	}
	// A key that the store loses.
	lossy := &kvConn{store: kv.New(kv.Options{})}
	lossy.spoil = func(path string, _ any) error {
		if path == "/"+kv.Create {
			lossy.store = kv.New(kv.Options{})
		}
		return nil
	}
	r, err := Run(t.Context(), Config{Conn: lossy, Workload: KV(KVMix{ValueMean: 1000}), Callers: 1, For: 20 * time.Millisecond})
	if err != nil || r.Errors["NOT_FOUND"] == 0 {
		t.Errorf("a store that forgets: %+v, %v", r, err)
	}
}
