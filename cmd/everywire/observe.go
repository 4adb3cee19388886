package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/url"
	"strings"
	"time"

	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"github.com/everywire/everywire/observe/calllog"
	"github.com/everywire/everywire/observe/tracing"
	"github.com/everywire/everywire/wire"
)

// observeFlags say what is seen of a server from outside.
type observeFlags struct {
	Admin       string  `placeholder:"HOST:PORT" help:"Where to show /metrics for Prometheus, /debug/pprof/ and /healthz (default nowhere)."`
	Traces      string  `placeholder:"URL" help:"Where OpenTelemetry traces are sent by OTLP over HTTP, such as http://localhost:4318 (default nowhere)."`
	TraceSample float64 `default:"1" placeholder:"1" help:"Which share of the traces that begin here is kept; others follow their caller's choice."`
	LogCalls    bool    `help:"Log each call when it has ended."`
	LogFormat   string  `default:"text" enum:"text,json" help:"How logs are written: text or json."`
}

// traceFlush is how long the last spans may take to be sent.
const traceFlush = 5 * time.Second

// logger makes the server's log.
func (f *observeFlags) logger(a *app) *slog.Logger {
	if f.LogFormat == "json" {
		return slog.New(slog.NewJSONHandler(a.stderr, nil))
	}
	return slog.New(slog.NewTextHandler(a.stderr, nil))
}

// An observer is what the flags have started.
type observer struct {
	admin   *admin                   // or nil
	traces  *sdktrace.TracerProvider // or nil
	options []wire.ServeOption
	calls   []wire.DialOption // for connections that services make
}

// start starts what the flags ask for. services name the server in traces.
func (f *observeFlags) start(ctx context.Context, logger *slog.Logger, services []string) (*observer, error) {
	o := new(observer)
	if f.Traces == "" && f.TraceSample != 1 {
		return nil, usagef("--trace-sample %v is a share of traces, which go nowhere without --traces", f.TraceSample)
	}
	if f.Traces != "" {
		provider, err := f.tracerProvider(ctx, services)
		if err != nil {
			return nil, err
		}
		otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { logger.Warn("traces", slog.Any("error", err)) }))
		o.traces = provider
		traced := wire.WithStats(tracing.New(provider).Handler)
		o.options, o.calls = append(o.options, traced), append(o.calls, traced)
	}
	if f.LogCalls { // after traces, so that it knows the trace
		o.options = append(o.options, wire.WithStats(calllog.New(logger).Handler))
	}
	if f.Admin != "" {
		admin, option, err := newAdmin(ctx, f.Admin, logger)
		if err != nil {
			return nil, errors.Join(err, o.close(ctx))
		}
		o.admin = admin
		o.options = append(o.options, option)
	}
	return o, nil
}

func (f *observeFlags) tracerProvider(ctx context.Context, services []string) (*sdktrace.TracerProvider, error) {
	if u, err := url.Parse(f.Traces); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" || u.RawQuery != "" || u.Fragment != "" {
		return nil, usagef("--traces %q is not the URL of a collector, such as http://localhost:4318", f.Traces)
	}
	if !(f.TraceSample >= 0 && f.TraceSample <= 1) { // nor NaN
		return nil, usagef("--trace-sample %v is not between 0 and 1", f.TraceSample)
	}
	endpoint := strings.TrimSuffix(f.Traces, "/")
	if !strings.HasSuffix(endpoint, "/v1/traces") {
		endpoint += "/v1/traces" // where a collector takes them, unless it is said otherwise
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint))
	if err != nil {
		return nil, fmt.Errorf("--traces %s: %w", f.Traces, err)
	}
	self, err := resource.New(ctx, resource.WithTelemetrySDK(),
		resource.WithAttributes(attribute.String("service.name", strings.Join(services, "+"))),
		resource.WithFromEnv()) // OTEL_SERVICE_NAME and OTEL_RESOURCE_ATTRIBUTES know better
	if err != nil {
		return nil, fmt.Errorf("--traces: %w", err)
	}
	return sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter), sdktrace.WithResource(self),
		sdktrace.WithSampler(sdktrace.ParentBased(sdktrace.TraceIDRatioBased(f.TraceSample)))), nil
}

// stopping is called when the server is about to stop.
func (o *observer) stopping() {
	if o.admin != nil {
		o.admin.stopping.Store(true)
	}
}

// close sends what is left and ends.
func (o *observer) close(ctx context.Context) error {
	var errs []error
	if o.traces != nil {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), traceFlush)
		defer cancel()
		if err := o.traces.Shutdown(ctx); err != nil {
			errs = append(errs, fmt.Errorf("the last traces could not be sent: %w", err))
		}
	}
	if o.admin != nil {
		errs = append(errs, o.admin.close())
	}
	return errors.Join(errs...)
}
