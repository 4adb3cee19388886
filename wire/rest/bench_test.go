package rest

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/json"
)

type sumRequest struct {
	Numbers []int64 `wire:"1"`
}

type sumReply struct {
	Sum int64 `wire:"1"`
}

func sumRegistry() *everywire.Registry {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "arith.Arith/Sum", func(_ context.Context, in *sumRequest) (*sumReply, error) {
		out := &sumReply{}
		for _, n := range in.Numbers {
			out.Sum += n
		}
		return out, nil
	})
	return reg
}

// BenchmarkSum is a call of ours beside the same written by hand on net/http,
// with the same codec and with encoding/json.
func BenchmarkSum(b *testing.B) {
	in := &sumRequest{Numbers: []int64{20, 21}}
	b.Run("rest", func(b *testing.B) {
		conn := dial(b, clientConfig(serve(b, serverConfig(sumRegistry()))))
		b.ReportAllocs()
		for b.Loop() {
			if out, err := everywire.Call[sumReply](b.Context(), conn, "arith.Arith/Sum", in); err != nil || out.Sum != 41 {
				b.Fatal(out, err)
			}
		}
	})
	var codec json.Codec
	ours := byHand{
		marshal:   func(v any) ([]byte, error) { return codec.Append(nil, v) },
		unmarshal: codec.Decode,
	}
	b.Run("by hand", func(b *testing.B) { ours.run(b, in) })
	b.Run("by hand, encoding/json", func(b *testing.B) { byHand{stdjson.Marshal, stdjson.Unmarshal}.run(b, in) })
}

type byHand struct {
	marshal   func(any) ([]byte, error)
	unmarshal func([]byte, any) error
}

func (h byHand) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	var in sumRequest
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = h.unmarshal(body, &in)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out := sumReply{}
	for _, n := range in.Numbers {
		out.Sum += n
	}
	b, err := h.marshal(&out)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(b)
}

func (h byHand) run(b *testing.B, in *sumRequest) {
	mux := http.NewServeMux()
	mux.Handle("POST /sum", h)
	srv := httptest.NewServer(mux)
	defer srv.Close()
	client := &http.Client{Transport: &http.Transport{MaxIdleConnsPerHost: 16, DisableCompression: true}}
	defer client.CloseIdleConnections()
	b.ReportAllocs()
	for b.Loop() {
		body, err := h.marshal(in)
		if err != nil {
			b.Fatal(err)
		}
		req, err := http.NewRequestWithContext(b.Context(), http.MethodPost, srv.URL+"/sum", bytes.NewReader(body))
		if err != nil {
			b.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/json")
		res, err := client.Do(req)
		if err != nil {
			b.Fatal(err)
		}
		reply, err := io.ReadAll(res.Body)
		_ = res.Body.Close()
		var out sumReply
		if err == nil {
			err = h.unmarshal(reply, &out)
		}
		if err != nil || res.StatusCode != http.StatusOK || out.Sum != 41 {
			b.Fatal(res.StatusCode, string(reply), err)
		}
	}
}
