package foreign

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials/insecure"
	"google.golang.org/grpc/encoding"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/service/arith"
	"github.com/everywire/everywire/service/kv"
	"github.com/everywire/everywire/wire"
)

// A standardCodec is what a program writes that speaks gRPC in JSON with the
// standard library and grpc-go alone. It counts, to show that ours is another.
type standardCodec struct{ used *int }

func (standardCodec) Name() string { return "json" }

func (c standardCodec) Marshal(v any) ([]byte, error) {
	*c.used++
	return json.Marshal(v)
}

func (c standardCodec) Unmarshal(data []byte, v any) error {
	*c.used++
	return json.Unmarshal(data, v)
}

// The program's own types.
type (
	sumIn struct {
		Numbers []int64 `json:"numbers"`
	}
	sumOut struct {
		Sum int64 `json:"sum"`
	}
	pairOf struct {
		Key   []byte `json:"key"`
		Value []byte `json:"value,omitempty"`
	}
)

// A program of grpc-go with its own JSON codec, registered for the whole process
// as grpc-go has it, calls our server and is called by our client.
func TestGoOwnCodec(t *testing.T) {
	used := 0
	encoding.RegisterCodec(standardCodec{&used})
	s := newService()
	conn, err := grpc.NewClient(s.serve(t, "grpc://127.0.0.1:0"), grpc.WithTransportCredentials(insecure.NewCredentials()),
		grpc.WithDefaultCallOptions(grpc.CallContentSubtype("json")))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	ctx := testContext(t)
	var out sumOut
	if err := conn.Invoke(ctx, "/"+arith.Sum, &sumIn{[]int64{20, 21, 1<<62 + 1}}, &out); err != nil || out.Sum != 1<<62+42 {
		t.Errorf("sum: %v, %v", out, err)
	}
	stored := pairOf{[]byte("go"), []byte{0, 255}}
	if err := conn.Invoke(ctx, "/"+kv.Create, &stored, &struct{}{}); err != nil {
		t.Error(err)
	}
	var found pairOf
	if err := conn.Invoke(ctx, "/"+kv.Retrieve, &pairOf{Key: stored.Key}, &found); err != nil || !bytes.Equal(found.Value, stored.Value) {
		t.Errorf("retrieve: %v, %v", found, err)
	}
	err = conn.Invoke(ctx, "/peer.Peer/Fail", &struct {
		Code    int32  `json:"code"`
		Message string `json:"message"`
	}{5, "no such thing: ü"}, &struct{}{})
	if st := status.Convert(err); st.Code() != codes.NotFound || st.Message() != "no such thing: ü" || len(st.Details()) != 1 {
		t.Errorf("fail: %v", err)
	}
	if used != 7 { // twice for each reply, once for the error
		t.Errorf("the program's codec was used %d times", used)
	}
	ours, err := wire.Dial("grpc://" + ownServer(t) + "?codec=json")
	if err != nil {
		t.Fatal(err)
	}
	defer ours.Close()
	got, err := everywire.Call[arith.SumReply](ctx, ours, arith.Sum, &arith.SumRequest{Numbers: []int64{20, 21, 1<<62 + 1}})
	if err != nil || got.Sum != 1<<62+42 {
		t.Errorf("sum: %v, %v", got, err)
	}
	if _, err := everywire.Call[empty](ctx, ours, "arith.Arith/Nope", &empty{}); status.Code(err) != codes.Unimplemented {
		t.Errorf("an unknown method: %v", err)
	}
	if used != 9 {
		t.Errorf("the program's codec was used %d times", used)
	}
}

// ownServer is a server of grpc-go whose service is written by hand on types of
// the program's own.
func ownServer(t *testing.T) (addr string) {
	t.Helper()
	sum := func(_ any, _ context.Context, decode func(any) error, _ grpc.UnaryServerInterceptor) (any, error) {
		var in sumIn
		if err := decode(&in); err != nil {
			return nil, err
		}
		var out sumOut
		for _, n := range in.Numbers {
			out.Sum += n
		}
		return &out, nil
	}
	server := grpc.NewServer()
	server.RegisterService(&grpc.ServiceDesc{ServiceName: "arith.Arith", HandlerType: (*any)(nil), Methods: []grpc.MethodDesc{{MethodName: "Sum", Handler: sum}}}, struct{}{})
	lis, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Serve(lis) }()
	t.Cleanup(func() {
		server.Stop()
		if err := <-ended; err != nil && !errors.Is(err, grpc.ErrServerStopped) {
			t.Error(err)
		}
	})
	return lis.Addr().String()
}
