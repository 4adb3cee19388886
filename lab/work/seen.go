package work

import (
	"context"
	"sync"
	"time"

	"google.golang.org/grpc"

	"github.com/everywire/everywire"
	"github.com/everywire/everywire/lab/record"
)

// seen counts the calls of a service and how long it took for each, without what
// its wire took.
type seen struct {
	mu     sync.Mutex
	calls  int64
	served record.Hist
}

func (s *seen) unary(ctx context.Context, in any, _ *grpc.UnaryServerInfo, handler grpc.UnaryHandler) (any, error) {
	begin := time.Now()
	out, err := handler(ctx, in)
	s.note(time.Since(begin))
	return out, err
}

func (s *seen) note(took time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	s.served.Record(int64(took))
}

// NewRegistry returns a registry with the service.
func (w *Work) NewRegistry() *everywire.Registry {
	if w.registry != nil {
		return w.registry
	}
	var opts []everywire.RegistryOption
	if w.seen != nil {
		opts = append(opts, everywire.ChainUnary(w.seen.unary))
	}
	reg := everywire.NewRegistry(opts...)
	w.Register(reg)
	return reg
}

// Seen returns what the service has done since it was last asked, nothing if its
// calls are not watched.
func (w *Work) Seen() (calls int64, served record.Hist) {
	s := w.seen
	if s == nil {
		return 0, record.Hist{}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	calls, served = s.calls, s.served
	s.calls, s.served = 0, record.Hist{}
	return calls, served
}
