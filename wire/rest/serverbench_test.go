package rest

import (
	"bytes"
	"context"
	stdjson "encoding/json"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/everywire/everywire"
)

type echoMessage struct {
	Seq  int64  `wire:"1" json:"seq"`
	Text string `wire:"2" json:"text"`
}

// BenchmarkServer is the server's part of a call: a client that writes the same
// bytes again and again costs next to nothing. Beside it is what one would write
// by hand on net/http.
func BenchmarkServer(b *testing.B) {
	reg := everywire.NewRegistry()
	everywire.Handle(reg, "echo.Echo/Echo", func(_ context.Context, in *echoMessage) (*echoMessage, error) { return in, nil })
	b.Run("rest", func(b *testing.B) { callRaw(b, serve(b, serverConfig(reg))) })
	mounted, err := NewHandler(serverConfig(reg))
	if err != nil {
		b.Fatal(err)
	}
	b.Run("rest on net/http", func(b *testing.B) { callNetHTTP(b, mounted) })
	b.Run("net/http", func(b *testing.B) { callNetHTTP(b, http.HandlerFunc(echoByHand)) })
}

func callNetHTTP(b *testing.B, h http.Handler) {
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	srv := http.Server{Handler: h}
	done := make(chan error, 1)
	go func() { done <- srv.Serve(lis) }()
	defer func() {
		_ = srv.Close()
		<-done
	}()
	callRaw(b, lis.Addr().String())
}

func echoByHand(w http.ResponseWriter, r *http.Request) {
	var m echoMessage
	body, err := io.ReadAll(r.Body)
	if err == nil {
		err = stdjson.Unmarshal(body, &m)
	}
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
	}
	out, err := stdjson.Marshal(&m)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.Header().Set("Content-Type", "application/json")
	_, _ = w.Write(out)
}

func callRaw(b *testing.B, addr string) {
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		b.Fatal(err)
	}
	defer conn.Close()
	body := `{"seq":1,"text":"` + strings.Repeat("x", 64) + `"}`
	request := []byte("POST /echo.Echo/Echo HTTP/1.1\r\nHost: " + addr + "\r\nUser-Agent: bench\r\nContent-Type: application/json\r\nContent-Length: " +
		strconv.Itoa(len(body)) + "\r\n\r\n" + body)
	buf := make([]byte, 4<<10)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := conn.Write(request); err != nil {
			b.Fatal(err)
		}
		n, err := conn.Read(buf) // a short response comes at once
		if err != nil || !bytes.HasPrefix(buf[:n], []byte("HTTP/1.1 200")) || !bytes.HasSuffix(buf[:n], []byte(body)) {
			b.Fatalf("%q, %v", buf[:n], err)
		}
	}
}
