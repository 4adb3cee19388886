package rpc

import (
	"context"
	"errors"
	"sync"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/metadata"
	"google.golang.org/grpc/peer"
	"google.golang.org/grpc/status"

	"github.com/everywire/everywire"
)

// Outgoing is one call as a wire must send it, and takes what came back.
type Outgoing struct {
	// Path is "/arith.Arith/Sum"; Method its description, nil if unknown.
	Path   string
	Method *everywire.Method
	// Metadata to send: the context's and that of per-call credentials.
	Metadata metadata.MD
	// WantMeta is set if the caller asked for headers or trailers by an option.
	// That of a stream may ask later.
	WantMeta bool
	// WantPeer is set if the caller or a stats.Handler looks at the peer.
	WantPeer bool
	// OneWay is set for calls without a reply. A stream is never one.
	OneWay bool
	// WaitForReady is set if the call shall wait for a server instead of
	// failing when none can be reached; see [Outgoing.Reach].
	WaitForReady bool

	// What the wire sets: the headers and trailers that came, and the peer.
	Header, Trailer metadata.MD
	Peer            *peer.Peer

	args, reply                  any  // of a unary call
	encoded                      bool // a unary call: before that, nothing was sent
	maxSend, maxRecv             int
	clientStreams, serverStreams bool
	stats                        *clientStats
}

// outgoings are those of unary calls that are over.
var outgoings = sync.Pool{New: func() any { return new(Outgoing) }}

// Invoke runs one unary call as every wire owes it. roundTrip encodes args,
// sends them, waits and decodes into reply; it calls [Outgoing.Sent] and
// [Outgoing.Received] for limits and stats, and does not keep call. An error
// that is no status becomes that of ctx if it has ended, else Unavailable.
func (c *ClientConfig) Invoke(ctx context.Context, path string, args, reply any, opts []grpc.CallOption,
	roundTrip func(ctx context.Context, call *Outgoing) error,
) (err error) {
	call := outgoings.Get().(*Outgoing)
	*call = Outgoing{
		Path: path, Method: c.Method(path), args: args, reply: reply,
		maxSend: c.Limits.MaxMessage, maxRecv: c.Limits.MaxMessage,
	}
	o, err := readCallOptions(opts, call)
	defer func() {
		*call = Outgoing{}
		outgoings.Put(call)
		for _, f := range o.onFinish {
			f(err)
		}
	}()
	if err != nil {
		err = NotSent(err)
		return err
	}
	ctx, err = c.prepare(ctx, call, o.creds)
	switch {
	case err == nil:
		err = callError(ctx, roundTrip(ctx, call))
		if err != nil && !call.encoded {
			err = NotSent(err)
		}
	case call.stats == nil:
		err = NotSent(err)
		return err
	default:
		err = NotSent(err)
	}
	if call.Header != nil || err == nil {
		call.stats.receivedHeader(call)
	}
	call.stats.receivedTrailer(call)
	call.stats.end(call, err)
	o.deliver(call)
	return err
}

// prepare sets the metadata of a call, begins its stats and returns its
// context.
func (c *ClientConfig) prepare(ctx context.Context, call *Outgoing, creds credentials.PerRPCCredentials) (context.Context, error) {
	if err := ctx.Err(); err != nil {
		return ctx, status.FromContextError(err).Err()
	}
	md, _ := metadata.FromOutgoingContext(ctx)
	if err := c.authorize(ctx, call, creds, md); err != nil {
		return ctx, err
	}
	if err := c.checkMetadata(call.Metadata); err != nil {
		return ctx, err
	}
	if call.stats = c.beginStats(ctx, call); call.stats == nil {
		return ctx, nil
	}
	call.WantPeer = true
	return call.stats.ctx, c.checkMetadata(call.Metadata) // a handler may have added some
}

// checkMetadata refuses metadata that must not be sent. Some wires would close
// the connection over it, and with it end the calls of others.
func (c *ClientConfig) checkMetadata(md metadata.MD) error {
	if err := ValidateMetadata(md); err != nil {
		return status.Error(codes.Internal, err.Error())
	}
	return checkSize(md, c.Limits)
}

// authorize sets the call's metadata: the context's and that of per-call
// credentials.
func (c *ClientConfig) authorize(ctx context.Context, call *Outgoing, creds credentials.PerRPCCredentials, md metadata.MD) error {
	call.Metadata = md
	if creds == nil {
		return nil
	}
	if creds.RequireTransportSecurity() && c.TLS == nil {
		return status.Error(codes.Unauthenticated, "the credentials of this call may only be sent over TLS")
	}
	extra, err := creds.GetRequestMetadata(ctx, c.Target)
	if err != nil {
		if s, ok := status.FromError(err); ok {
			if notOfCredentials(s.Code()) {
				return status.Errorf(codes.Internal, "per-RPC credentials failed with a status that they may not have: %v", err)
			}
			return err
		}
		return status.Errorf(codes.Unauthenticated, "per-RPC credentials failed: %v", err)
	}
	if len(extra) > 0 {
		call.Metadata = metadata.Join(md, metadata.New(extra))
	}
	return nil
}

// notOfCredentials reports the codes that only a service may give (gRFC A54):
// a caller must not take the failure of its credentials for the answer.
func notOfCredentials(c codes.Code) bool {
	switch c {
	case codes.OK, codes.InvalidArgument, codes.NotFound, codes.AlreadyExists, codes.FailedPrecondition, codes.Aborted, codes.OutOfRange, codes.DataLoss:
		return true
	}
	return false
}

// Sent is called with the length of the encoded request before it is written.
func (call *Outgoing) Sent(n int) error {
	if n > call.maxSend {
		return tooLarge("trying to send", n, call.maxSend)
	}
	call.encoded = true
	call.stats.sentHeader(call)
	call.stats.sent(call.args, n)
	return nil
}

// CheckReceived is called with the length of the reply before it is decoded.
func (call *Outgoing) CheckReceived(n int) error {
	if n > call.maxRecv {
		return tooLarge("received", n, call.maxRecv)
	}
	return nil
}

// MayRepeat reports whether the method says that it may run twice.
func (call *Outgoing) MayRepeat() bool {
	if call.Method != nil {
		return call.Method.Idempotency.MayRepeat()
	}
	return everywire.IdempotencyOf(nil, call.Path).MayRepeat()
}

// PreviousAttempts is the metadata key by which a client that retries says how
// many attempts came before (gRFC A6).
const PreviousAttempts = "grpc-previous-rpc-attempts"

// HasMetadata reports whether the call has metadata that must arrive. How many
// attempts came before is a hint, which a wire without metadata does not carry.
func (call *Outgoing) HasMetadata() bool {
	n := len(call.Metadata)
	if n == 1 && call.Metadata[PreviousAttempts] != nil {
		return false
	}
	return n > 0
}

// MaxReceive is the largest reply in bytes that the call may take.
func (call *Outgoing) MaxReceive() int { return call.maxRecv }

// Received is called with the length of the reply after it was decoded.
func (call *Outgoing) Received(n int) { call.stats.received(call.reply, n) }

// Reach runs try, which may fail with a *[DialError] when nothing was sent.
// A call that waits for ready tries again, with back-off, until ctx ends;
// others fail at once.
func (call *Outgoing) Reach(ctx context.Context, try func() error) error {
	var earlier error // an attempt that may have run
	for delay := 10 * time.Millisecond; ; delay = min(2*delay, time.Second) {
		err := After(earlier, try())
		if err == nil || !call.WaitForReady {
			return err
		}
		if everywire.MayHaveRun(err) {
			earlier = err
		}
		var unreachable *DialError
		if !errors.As(err, &unreachable) {
			return err
		}
		timer := time.NewTimer(delay)
		select {
		case <-timer.C:
		case <-ctx.Done():
			timer.Stop()
			end := status.Errorf(status.FromContextError(ctx.Err()).Code(), "%v while waiting for a server: %v", ctx.Err(), err)
			return After(earlier, NotSent(end))
		}
	}
}

// callError is the status of a failure: its own, or that of ctx if it has
// ended, else Unavailable. What is known of the call's fate stays known.
func callError(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	return withFate(statusError(ctx, err), everywire.MayHaveRun(err))
}

func statusError(ctx context.Context, err error) error {
	if f, ok := err.(*fateError); ok { //nolint:errorlint // the outermost error, by intent
		err = f.error
	}
	if ctxErr := ctx.Err(); ctxErr != nil && !isServerStatus(err) {
		return status.FromContextError(ctxErr).Err()
	}
	if _, ok := status.FromError(err); ok {
		return StatusOf(err).Err()
	}
	if errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) {
		return status.FromContextError(err).Err()
	}
	return status.Error(codes.Unavailable, err.Error())
}

// isServerStatus tells an answer from a failure of the connection, which ctx's
// end may have caused.
func isServerStatus(err error) bool {
	_, ok := err.(interface{ GRPCStatus() *status.Status }) // the outermost error, by intent
	var unreachable *DialError
	return ok && !errors.As(err, &unreachable)
}

// NoStreams is the answer of wires that carry no streams yet.
func NoStreams(wire string) error {
	return status.Errorf(codes.Unimplemented, "the wire %s carries no streams", wire)
}
