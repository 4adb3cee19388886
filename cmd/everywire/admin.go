package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/pprof"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everywire/everywire/observe/metrics"
	"github.com/everywire/everywire/wire"
)

// An admin is the HTTP server that shows a process to those who run it: metrics,
// profiles, health. It is not for the service's clients: profiles tell too much.
type admin struct {
	registry *prometheus.Registry
	server   *http.Server
	addr     net.Addr
	stopping atomic.Bool
	served   chan error
}

// newAdmin serves on addr, and returns the option that counts calls.
func newAdmin(ctx context.Context, addr string, logger *slog.Logger) (*admin, wire.Option, error) {
	reg := prometheus.NewRegistry()
	calls, err := metrics.New(reg)
	if err != nil {
		return nil, nil, err
	}
	for _, c := range []prometheus.Collector{collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{})} {
		if err := reg.Register(c); err != nil {
			return nil, nil, err
		}
	}
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, nil, fmt.Errorf("--admin %s: cannot listen: %w", addr, err)
	}
	a := &admin{registry: reg, addr: lis.Addr(), served: make(chan error, 1)}
	a.server = &http.Server{
		Handler:           a.handler(reg),
		ReadHeaderTimeout: 10 * time.Second,
		ErrorLog:          slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}
	go func() { a.served <- a.server.Serve(lis) }()
	return a, wire.WithStats(calls.Handler), nil
}

func (a *admin) handler(reg *prometheus.Registry) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	mux.HandleFunc("GET /debug/pprof/", pprof.Index) // also the profiles by name: heap, goroutine, …
	mux.HandleFunc("GET /debug/pprof/cmdline", pprof.Cmdline)
	mux.HandleFunc("GET /debug/pprof/profile", pprof.Profile)
	mux.HandleFunc("GET /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("POST /debug/pprof/symbol", pprof.Symbol)
	mux.HandleFunc("GET /debug/pprof/trace", pprof.Trace)
	mux.HandleFunc("GET /healthz", a.health)
	mux.HandleFunc("GET /{$}", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "/metrics\n/healthz\n/debug/pprof/\n") // the client has gone
	})
	return mux
}

// health is 503 from the time when the server is being stopped, so that a balancer
// sends no more calls while those in flight end.
func (a *admin) health(w http.ResponseWriter, _ *http.Request) {
	text := "serving\n"
	if a.stopping.Load() {
		w.WriteHeader(http.StatusServiceUnavailable)
		text = "stopping\n"
	}
	_, _ = io.WriteString(w, text) // the client has gone
}

// close ends the server at once: a profile that runs is given up.
func (a *admin) close() error {
	if err := errors.Join(a.server.Close(), <-a.served); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}
