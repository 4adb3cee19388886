package sample_test

import (
	"context"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/proto"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/describe"
	"github.com/everywire/everywire/service/sample"
	"github.com/everywire/everywire/service/sample/samplepb"
	"github.com/everywire/everywire/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func registry(delay time.Duration) *everywire.Registry {
	reg := everywire.NewRegistry()
	sample.Register(reg, sample.Options{Delay: delay})
	return reg
}

func serve(t *testing.T, targets ...string) []wire.Target {
	t.Helper()
	server, err := wire.Serve(context.WithoutCancel(t.Context()), registry(time.Millisecond), targets)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := server.Shutdown(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return server.Targets()
}

// A client that was generated from the article's file works on every wire,
// although what is served was made from plain structs.
func TestGeneratedClient(t *testing.T) {
	for _, target := range serve(t,
		"grpc://127.0.0.1:0", "rest://127.0.0.1:0", "connect://127.0.0.1:0", "jsonrpc+http://127.0.0.1:0",
		"jsonrpc+tcp://127.0.0.1:0", "msgpackrpc+tcp://127.0.0.1:0", "any://127.0.0.1:0") {
		t.Run(target.Wire+"+"+target.Transport, func(t *testing.T) {
			text := strings.Replace(target.String(), "any://", "grpc://", 1)
			conn, err := wire.Dial(text)
			if err != nil {
				t.Fatal(err)
			}
			defer conn.Close()
			checkClient(t, conn)
		})
	}
}

// So it does on a connection of grpc-go that knows nothing of everywire.
func TestGeneratedClientOfBareGRPC(t *testing.T) {
	target := serve(t, "grpc://127.0.0.1:0")[0]
	conn, err := grpc.NewClient(target.Addrs[0], grpc.WithTransportCredentials(insecure.NewCredentials()))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	checkClient(t, conn)
}

func checkClient(t *testing.T, conn grpc.ClientConnInterface) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	client, in, want := samplepb.NewSampleDataServiceClient(conn), &samplepb.Empty{}, sample.Data()
	all, err := client.GetSampleData(ctx, in)
	if err != nil || all.GetId() != want.ID || all.GetName() != want.Name || all.GetEnjoysCoding() != want.EnjoysCoding {
		t.Errorf("GetSampleData: %v, %v", all, err)
	}
	// The parts one after the other are the whole: protobuf merges by number.
	merged := new(samplepb.SampleData)
	id, err1 := client.GetId(ctx, in)
	name, err2 := client.GetName(ctx, in)
	passion, err3 := client.GetPassion(ctx, in)
	for i, part := range []proto.Message{id, name, passion} {
		if err := []error{err1, err2, err3}[i]; err != nil {
			t.Fatal(err)
		}
		text, err := proto.Marshal(part)
		if err != nil {
			t.Fatal(err)
		}
		if err := (proto.UnmarshalOptions{Merge: true}).Unmarshal(text, merged); err != nil {
			t.Fatal(err)
		}
	}
	if !proto.Equal(merged, all) {
		t.Errorf("the parts are %v, the whole is %v", merged, all)
	}
}

// The routes of the article, as any client of HTTP asks for them.
func TestRoutes(t *testing.T) {
	base := "http://" + serve(t, "rest://127.0.0.1:0")[0].Addrs[0]
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}, Timeout: time.Minute}
	for _, c := range []struct{ verb, path, want string }{
		{"GET", "/", `{"id":1,"name":"Ada Lovelace","enjoysCoding":true}`},
		{"GET", "/id", `{"id":1}`},
		{"GET", "/name", `{"name":"Ada Lovelace"}`},
		{"GET", "/passion", `{"enjoysCoding":true}`},
		{"POST", "/SampleDataService/GetSampleData", `{"id":1,"name":"Ada Lovelace","enjoysCoding":true}`},
	} {
		req, err := http.NewRequestWithContext(t.Context(), c.verb, base+c.path, nil)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := client.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		body, err := io.ReadAll(resp.Body)
		resp.Body.Close()
		if err != nil || resp.StatusCode != http.StatusOK || strings.TrimSpace(string(body)) != c.want {
			t.Errorf("%s %s: %s %q, %v; want %q", c.verb, c.path, resp.Status, body, err, c.want)
		}
	}
}

// Everything that documents make of names works for names without a package.
func TestDocuments(t *testing.T) {
	files, err := describe.Proto(registry(0).Methods(), describe.Options{})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) != 1 {
		t.Fatalf("there are %d .proto files", len(files))
	}
	text := string(files[0].Text)
	for _, want := range []string{"service SampleDataService {", "rpc GetSampleData(Empty) returns (SampleData) {", "bool enjoys_coding = 3;"} {
		if !strings.Contains(text, want) {
			t.Errorf("the .proto file lacks %q:\n%s", want, text)
		}
	}
	if strings.Contains(text, "package") {
		t.Errorf("the .proto file has a package:\n%s", text)
	}
}

// The delay is as long as it is asked for, and no caller is kept for longer than
// it waits.
func TestDelay(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const delay = 10 * time.Millisecond
		m, ok := registry(delay).Lookup("/" + sample.GetSampleData)
		if !ok {
			t.Fatal("there is no " + sample.GetSampleData)
		}
		call := func(ctx context.Context) (time.Duration, error) {
			begin := time.Now()
			_, err := m.Unary(ctx, func(any) error { return nil })
			return time.Since(begin), err
		}
		if took, err := call(t.Context()); err != nil || took != delay {
			t.Errorf("it took %v, %v; want %v", took, err, delay)
		}
		short, cancel := context.WithTimeout(t.Context(), 3*time.Millisecond)
		defer cancel()
		if took, err := call(short); status.Code(err) != codes.DeadlineExceeded || took != 3*time.Millisecond {
			t.Errorf("a caller that waits for 3ms: %v after %v", err, took)
		}
		gone, cancel := context.WithCancel(t.Context())
		cancel()
		if took, err := call(gone); status.Code(err) != codes.Canceled || took != 0 {
			t.Errorf("a caller that has gone: %v after %v", err, took)
		}
	})
}

// Callers do not share the reply.
func TestRepliesAreApart(t *testing.T) {
	m, _ := registry(0).Lookup("/" + sample.GetSampleData)
	first, err := m.Unary(t.Context(), func(any) error { return nil })
	if err != nil {
		t.Fatal(err)
	}
	first.(*sample.SampleData).Name = "changed"
	second, err := m.Unary(t.Context(), func(any) error { return nil })
	if err != nil || *second.(*sample.SampleData) != sample.Data() {
		t.Errorf("the second reply is %v, %v", second, err)
	}
}
