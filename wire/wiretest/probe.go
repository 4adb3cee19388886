package wiretest

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"
	"google.golang.org/protobuf/protoadapt"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/codec/protobuf"
	"github.com/everywire/everywire/wire/wiretest/probepb"
)

// The probe's methods.
const (
	runMethod      = "everywire.wiretest.Probe/Run"
	getMethod      = "everywire.wiretest.Probe/Get"
	downloadMethod = "everywire.wiretest.Probe/Download"
	uploadMethod   = "everywire.wiretest.Probe/Upload"
	chatMethod     = "everywire.wiretest.Probe/Chat"
)

// A probe is the service under test: what it does is told by each request. It
// reports how the contexts of its waiting handlers ended.
type probe struct {
	probepb.UnimplementedProbeServer

	// received and sent count the messages of all streams.
	received, sent atomic.Int64

	mu      sync.Mutex
	waiting map[string]*waiter // by the request's name
}

// A waiter follows one call whose handler waits.
type waiter struct {
	started chan struct{} // closed when the handler waits
	ended   chan struct{} // closed when it no longer does
	err     error         // of its context, set before ended is closed
}

func newProbe() *probe { return &probe{waiting: map[string]*waiter{}} }

// expect announces a call named name whose handler will wait.
func (p *probe) expect(name string) *waiter {
	w := &waiter{started: make(chan struct{}), ended: make(chan struct{})}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.waiting[name] = w
	return w
}

func (p *probe) waiter(name string) *waiter {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.waiting[name]
	delete(p.waiting, name)
	if w == nil {
		return &waiter{started: make(chan struct{}), ended: make(chan struct{})}
	}
	return w
}

// Run follows the request's instructions.
func (p *probe) Run(ctx context.Context, in *probepb.RunRequest) (*probepb.RunReply, error) {
	out := &probepb.RunReply{
		Name: in.GetName(), Payload: in.GetPayload(), Numbers: in.GetNumbers(), Big: in.GetBig(), Ubig: in.GetUbig(),
		Ratio: in.GetRatio(), Flag: in.GetFlag(), Labels: in.GetLabels(), Maybe: in.Maybe, At: in.GetAt(), Tree: in.GetTree(),
		DeadlineMs: -1,
	}
	if d, ok := ctx.Deadline(); ok {
		out.DeadlineMs = time.Until(d).Milliseconds()
	}
	if pr, ok := peer.FromContext(ctx); ok && pr.AuthInfo != nil {
		out.PeerAuth = pr.AuthInfo.AuthType()
	}
	out.Method, _ = grpc.Method(ctx)
	if md, ok := metadata.FromIncomingContext(ctx); ok {
		out.Metadata = fromMD(md)
	}
	if err := setMetadata(ctx, in, out); err != nil {
		return nil, err
	}
	if in.GetPanic() {
		panic("the probe was told to panic")
	}
	if d := in.GetWait(); d != nil {
		if err := p.wait(ctx, in.GetName(), d.AsDuration()); err != nil {
			return nil, err
		}
	}
	if in.GetCode() != 0 {
		return nil, failure(in)
	}
	return out, nil
}

func (p *probe) wait(ctx context.Context, name string, d time.Duration) error {
	w := p.waiter(name)
	close(w.started)
	defer close(w.ended)
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		w.err = ctx.Err()
		return ctx.Err() // bare: wires must turn it into a status
	}
}

func setMetadata(ctx context.Context, in *probepb.RunRequest, out *probepb.RunReply) error {
	if md := toMD(in.GetHeader()); len(md) > 0 {
		if err := grpc.SetHeader(ctx, md); err != nil {
			return err
		}
	}
	if md := toMD(in.GetTrailer()); len(md) > 0 {
		if err := grpc.SetTrailer(ctx, md); err != nil {
			return err
		}
	}
	if in.GetSendHeaderTwice() {
		if err := grpc.SendHeader(ctx, metadata.Pairs("x-sent", "once")); err != nil {
			return err
		}
		if err := grpc.SetHeader(ctx, metadata.Pairs("x-late", "1")); err != nil {
			out.SetHeaderError = "failed"
		}
	}
	return nil
}

func failure(in *probepb.RunRequest) error {
	s := status.New(codes.Code(in.GetCode()), in.GetMessage())
	var details []protoadapt.MessageV1
	for _, d := range in.GetDetails() {
		details = append(details, &errdetails.ErrorInfo{Reason: d.GetReason(), Domain: d.GetDomain()})
	}
	s, err := s.WithDetails(details...)
	if err != nil {
		return err
	}
	return s.Err()
}

// Get only reads.
func (p *probe) Get(ctx context.Context, in *probepb.GetRequest) (*probepb.RunReply, error) {
	return p.Run(ctx, &probepb.RunRequest{
		Name: in.GetName(), Numbers: in.GetNumbers(), Flag: in.GetFlag(), Big: in.GetBig(), Tree: in.GetTree(),
	})
}

// generated registers the probe as generated code does.
func (p *probe) generated(opts ...everywire.RegistryOption) *everywire.Registry {
	reg := everywire.NewRegistry(opts...)
	probepb.RegisterProbeServer(reg, p)
	return reg
}

// plain registers the same methods as functions on plain structs.
func (p *probe) plain(opts ...everywire.RegistryOption) *everywire.Registry {
	reg := everywire.NewRegistry(opts...)
	everywire.Handle(reg, runMethod, func(ctx context.Context, in *RunRequest) (*RunReply, error) {
		return viaProto[RunReply](p.Run(ctx, mustConvert(new(probepb.RunRequest), in)))
	})
	everywire.Handle(reg, getMethod, func(ctx context.Context, in *GetRequest) (*RunReply, error) {
		return viaProto[RunReply](p.Get(ctx, mustConvert(new(probepb.GetRequest), in)))
	}, everywire.WithIdempotency(everywire.NoSideEffects), everywire.WithRoute("GET", "/probe/{name}", ""))
	everywire.HandleServerStream(reg, downloadMethod, func(in *RunRequest, stream grpc.ServerStreamingServer[RunReply]) error {
		return p.Download(mustConvert(new(probepb.RunRequest), in), asGenerated(stream))
	})
	everywire.HandleClientStream(reg, uploadMethod, func(stream grpc.ClientStreamingServer[RunRequest, RunReply]) error {
		return p.Upload(asGenerated(stream))
	})
	everywire.HandleBidi(reg, chatMethod, func(stream grpc.BidiStreamingServer[RunRequest, RunReply]) error {
		return p.Chat(asGenerated(stream))
	})
	return reg
}

func viaProto[Out any](out *probepb.RunReply, err error) (*Out, error) {
	if err != nil {
		return nil, err
	}
	return mustConvert(new(Out), out), nil
}

// mustConvert fills to from from, a message of the same fields: one is plain,
// the other generated.
func mustConvert[To any](to *To, from any) *To {
	data, err := protobuf.Codec{}.Append(nil, from)
	if err == nil {
		err = protobuf.Codec{}.Decode(data, to)
	}
	if err != nil {
		panic(fmt.Sprintf("wiretest: %T as %T: %v", from, to, err))
	}
	return to
}

func toMD(m map[string]*probepb.Values) metadata.MD {
	md := metadata.MD{}
	for k, vs := range m {
		for _, v := range vs.GetValues() {
			md.Append(k, string(v))
		}
	}
	return md
}

func fromMD(md metadata.MD) map[string]*probepb.Values {
	m := map[string]*probepb.Values{}
	for k, vs := range md {
		m[k] = &probepb.Values{}
		for _, v := range vs {
			m[k].Values = append(m[k].Values, []byte(v))
		}
	}
	return m
}
