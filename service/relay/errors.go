package relay

import (
	"context"
	"log/slog"
	"sync"
	"time"

	codepb "google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/genproto/googleapis/rpc/errdetails"
	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"
)

// Reason and Domain are those of the google.rpc.ErrorInfo that an error about the
// upstream has. Its metadata tell the method, and the code that its call ended
// with.
const (
	Reason = "UPSTREAM_FAILED"
	Domain = "relay"
)

// failed is what a caller learns of a call of the upstream that failed: which
// method it was of, and what that means for the caller. The upstream's own words
// go to the log, as they may be of addresses and other matters of the inside.
func (r *relay) failed(ctx context.Context, method string, err error) error {
	switch code := status.FromContextError(ctx.Err()).Code(); code { // neither is a failure of the upstream
	case codes.DeadlineExceeded:
		return status.Error(code, "time was up before the upstream "+method+" had answered")
	case codes.Canceled:
		return status.Error(code, "the caller went before the upstream "+method+" had answered")
	}
	r.failures.log(ctx, method, err)
	from := status.Convert(err)
	code, text := meaning(from)
	info := &errdetails.ErrorInfo{Reason: Reason, Domain: Domain, Metadata: map[string]string{
		"method": method, "code": name(from.Code()),
	}}
	out := status.New(code, "the upstream "+method+" "+text)
	detailed, detailErr := out.WithDetails(info)
	if wait := retryInfo(from); wait != nil && code == codes.Unavailable && detailErr == nil {
		detailed, detailErr = detailed.WithDetails(wait)
	}
	if detailErr != nil {
		return out.Err()
	}
	return detailed.Err()
}

// meaning is the code of a failure further on to who asked here. Who asked has said
// nothing wrong, whatever the upstream found wrong: an error of that kind is this
// service's.
func meaning(s *status.Status) (code codes.Code, text string) {
	switch s.Code() {
	case codes.Unavailable, codes.Canceled: // by the upstream, as the caller is still there
		return codes.Unavailable, "is not available"
	case codes.DeadlineExceeded:
		return codes.DeadlineExceeded, "did not answer in time"
	case codes.ResourceExhausted:
		if retryInfo(s) != nil { // too many calls; without it, something is too large
			return codes.Unavailable, "has too much to do"
		}
	}
	return codes.Internal, "failed: " + name(s.Code())
}

// retryInfo says when the upstream wants to be asked again, if it does.
func retryInfo(s *status.Status) *errdetails.RetryInfo {
	for _, d := range s.Details() {
		if wait, ok := d.(*errdetails.RetryInfo); ok {
			return wait
		}
	}
	return nil
}

// name is the code's name in gRPC's specification, or its number if it has none.
func name(c codes.Code) string { return codepb.Code(c).String() } //nolint:gosec // a code of its own may be any number

// logEvery bounds what an upstream that is down adds to the log.
const logEvery = time.Second

// failures logs why the upstream failed, and how often in between.
type failures struct {
	logger *slog.Logger

	mu     sync.Mutex
	last   time.Time
	silent int // since then
}

func (f *failures) log(ctx context.Context, method string, err error) {
	f.mu.Lock()
	now := time.Now()
	if now.Sub(f.last) < logEvery {
		f.silent++
		f.mu.Unlock()
		return
	}
	silent := f.silent
	f.last, f.silent = now, 0
	f.mu.Unlock()
	f.logger.LogAttrs(ctx, slog.LevelWarn, "the upstream failed",
		slog.String("method", method), slog.Any("error", err), slog.Int("more", silent))
}
