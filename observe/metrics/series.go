package metrics

import (
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"google.golang.org/genproto/googleapis/rpc/code"
	"google.golang.org/grpc/codes"

	"github.com/everywire/everywire"
)

// A handler is the stats.Handler of one end of a wire. It looks up each series
// once: a call then costs no labels.
type handler struct {
	family  *family
	wire    string
	methods *everywire.Registry // of a server

	byPath sync.Map // string -> *series
	other  func() *series
}

// The series of one method.
type series struct {
	handler        *handler
	method         string
	received, sent prometheus.Counter
	inFlight       prometheus.Gauge
	// durations by code are made when a call has ended with it.
	durations [codes.Unauthenticated + 1]atomic.Pointer[prometheus.Observer]
}

func newHandler(f *family, wire string, methods *everywire.Registry) *handler {
	h := &handler{family: f, wire: wire, methods: methods}
	h.other = sync.OnceValue(func() *series { return h.newSeries("_OTHER") })
	return h
}

// series returns those of the method at a path, "/arith.Arith/Sum".
func (h *handler) series(path string) *series {
	if s, ok := h.byPath.Load(path); ok {
		return s.(*series)
	}
	if h.methods != nil {
		if _, ok := h.methods.Lookup(path); !ok {
			return h.other()
		}
	}
	s, _ := h.byPath.LoadOrStore(strings.Clone(path), h.newSeries(strings.TrimPrefix(path, "/")))
	return s.(*series)
}

func (h *handler) newSeries(method string) *series {
	return &series{
		handler:  h,
		method:   method,
		received: h.family.received.WithLabelValues(h.wire, method),
		sent:     h.family.sent.WithLabelValues(h.wire, method),
		inFlight: h.family.inFlight.WithLabelValues(h.wire, method),
	}
}

// ended counts a call that has ended.
func (s *series) ended(c codes.Code, took time.Duration) {
	if int(c) >= len(s.durations) {
		c = codes.Unknown // a server may send any number: they shall not make series
	}
	d := s.durations[c].Load()
	if d == nil {
		made := s.duration(c)
		d = &made
		s.durations[c].Store(d)
	}
	(*d).Observe(took.Seconds())
}

// duration has the code as the conventions write it: DEADLINE_EXCEEDED.
func (s *series) duration(c codes.Code) prometheus.Observer {
	return s.handler.family.duration.WithLabelValues(s.handler.wire, s.method, code.Code_name[int32(c)])
}
