package kv

import (
	"bytes"
	"context"
	"testing"
	"testing/synctest"
	"time"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
	"pgregory.net/rapid"
)

// Random operations against a map, bytes counted exactly.
func TestStoreModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := New(Options{MaxBytes: 64})
		model := map[string]string{}
		size := func() (n int) {
			for k, v := range model {
				n += len(k) + len(v)
			}
			return n
		}
		key := rapid.StringN(1, 3, 8)
		value := rapid.StringN(0, 8, 16)
		t.Repeat(map[string]func(*rapid.T){
			"create": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), value.Draw(t, "v")
				_, err := s.create(t.Context(), &CreateRequest{Key: []byte(k), Value: []byte(v)})
				_, exists := model[k]
				switch want := status.Code(err); {
				case exists && want != codes.AlreadyExists,
					!exists && size()+len(k)+len(v) > 64 && want != codes.ResourceExhausted,
					!exists && size()+len(k)+len(v) <= 64 && err != nil:
					t.Fatalf("create %q: %v", k, err)
				}
				if err == nil {
					model[k] = v
				}
			},
			"update": func(t *rapid.T) {
				k, v := key.Draw(t, "k"), value.Draw(t, "v")
				_, err := s.update(t.Context(), &UpdateRequest{Key: []byte(k), Value: []byte(v)})
				old, exists := model[k]
				fits := size()-len(old)+len(v) <= 64
				if exists && fits != (err == nil) || !exists && status.Code(err) != codes.NotFound {
					t.Fatalf("update %q: %v", k, err)
				}
				if err == nil {
					model[k] = v
				}
			},
			"delete": func(t *rapid.T) {
				k := key.Draw(t, "k")
				if _, err := s.delete(t.Context(), &DeleteRequest{Key: []byte(k)}); err != nil {
					t.Fatal(err)
				}
				delete(model, k)
			},
			"retrieve": func(t *rapid.T) {
				k := key.Draw(t, "k")
				out, err := s.retrieve(t.Context(), &RetrieveRequest{Key: []byte(k)})
				if v, ok := model[k]; ok && (err != nil || string(out.Value) != v) || !ok && status.Code(err) != codes.NotFound {
					t.Fatalf("retrieve %q: %v %v", k, out, err)
				}
			},
			"": func(t *rapid.T) {
				if s.bytes != size() {
					t.Fatalf("the store counts %d bytes, the model %d", s.bytes, size())
				}
			},
		})
	})
}

func TestStoreKeepsNoCallerBuffer(t *testing.T) {
	s := New(Options{})
	buf := []byte("value")
	if _, err := s.create(t.Context(), &CreateRequest{Key: []byte("k"), Value: buf}); err != nil {
		t.Fatal(err)
	}
	copy(buf, "other")
	out, err := s.retrieve(t.Context(), &RetrieveRequest{Key: []byte("k")})
	if err != nil || !bytes.Equal(out.Value, []byte("value")) {
		t.Fatalf("got %v, %v", out, err)
	}
}

func TestDelays(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s := New(Options{ReadDelay: 10 * time.Millisecond, WriteDelay: 50 * time.Millisecond})
		took := func(f func() error) time.Duration {
			start := time.Now()
			if err := f(); err != nil {
				t.Error(err)
			}
			return time.Since(start)
		}
		key := []byte("k")
		for name, c := range map[string]struct {
			want time.Duration
			call func() error
		}{
			"create": {50 * time.Millisecond, func() error { _, err := s.create(t.Context(), &CreateRequest{Key: key}); return err }},
			"delete": {50 * time.Millisecond, func() error { _, err := s.delete(t.Context(), &DeleteRequest{Key: []byte("x")}); return err }},
		} {
			if got := took(c.call); got != c.want {
				t.Errorf("%s took %v, want %v", name, got, c.want)
			}
		}
		if got := took(func() error { _, err := s.retrieve(t.Context(), &RetrieveRequest{Key: key}); return err }); got != 10*time.Millisecond {
			t.Errorf("retrieve took %v", got)
		}
		ctx, cancel := context.WithTimeout(t.Context(), 5*time.Millisecond)
		defer cancel()
		if _, err := s.update(ctx, &UpdateRequest{Key: key}); status.Code(err) != codes.DeadlineExceeded {
			t.Errorf("an update with a short deadline: %v", err)
		}
	})
}

func TestEmptyKey(t *testing.T) {
	s := New(Options{})
	if _, err := s.create(t.Context(), &CreateRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("create without a key: %v", err)
	}
	if _, err := s.retrieve(t.Context(), &RetrieveRequest{}); status.Code(err) != codes.InvalidArgument {
		t.Errorf("retrieve without a key: %v", err)
	}
}
