package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/everywire/everywire/observe/metrics"
	"github.com/everywire/everywire/wire"
)

// A metricsPage shows /metrics and nothing else, so that it may be seen by more
// people than an admin, whose profiles tell too much.
type metricsPage struct {
	server *http.Server
	addr   net.Addr
	served chan error
}

// serveMetrics shows what a registry has.
func serveMetrics(ctx context.Context, addr string, reg *prometheus.Registry, logger *slog.Logger) (*metricsPage, error) {
	lis, err := new(net.ListenConfig).Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("--metrics %s: cannot listen: %w", addr, err)
	}
	mux := http.NewServeMux()
	mux.Handle("GET /metrics", promhttp.HandlerFor(reg, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	p := &metricsPage{addr: lis.Addr(), served: make(chan error, 1), server: &http.Server{
		Handler: mux, ReadHeaderTimeout: 10 * time.Second, ErrorLog: slog.NewLogLogger(logger.Handler(), slog.LevelWarn),
	}}
	go func() { p.served <- p.server.Serve(lis) }()
	return p, nil
}

func (p *metricsPage) close() error {
	if err := errors.Join(p.server.Close(), <-p.served); !errors.Is(err, http.ErrServerClosed) {
		return err
	}
	return nil
}

// processMetrics are a registry with what every process has, and the option that
// counts calls.
func processMetrics() (*prometheus.Registry, wire.Option, error) {
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
	return reg, wire.WithStats(calls.Handler), nil
}
