package app

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"

	"github.com/go-logr/logr"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/propagation"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"

	"github.com/recoup-dev/recoup/fault"
)

// tracing sends a span per request to an OpenTelemetry collector. Spans carry the
// route and the code of a failure, and nothing that a caller sent.
type tracing struct {
	provider *sdktrace.TracerProvider
	tracer   trace.Tracer
	caller   propagation.TraceContext
}

func newTracing(ctx context.Context, o *Options) (*tracing, error) {
	// The SDK has one logger and one handler of errors per process. Its logger writes to stderr by
	// default, also the values of OTEL_EXPORTER_OTLP_HEADERS that it cannot read.
	otel.SetLogger(logr.Discard())
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { o.Logger.Warn("traces could not be sent", "cause", withoutAddress(err)) }))
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(o.Traces))
	if err != nil {
		return nil, fmt.Errorf("traces cannot be sent to the endpoint that was given: %w", err)
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithBatcher(exporter),
		sdktrace.WithResource(resource.NewSchemaless(
			attribute.String("service.name", "recoup"), attribute.String("service.version", o.Build.Version), attribute.String("service.instance.id", o.Node))),
	)
	return &tracing{provider: provider, tracer: provider.Tracer("recoup")}, nil
}

// withoutAddress describes an error of an exporter. Of an address only the host is left: its path,
// its user and its query may be secrets.
func withoutAddress(err error) string {
	failed, ok := errors.AsType[*url.Error](err)
	if !ok {
		return err.Error()
	}
	host := "the endpoint"
	if address, err := url.Parse(failed.URL); err == nil && address.Host != "" {
		host = address.Host
	}
	return host + ": " + failed.Err.Error()
}

// begin starts the span of a request, below the caller's if there is one.
func (t *tracing) begin(r *http.Request, route string) (context.Context, func(error)) {
	ctx := t.caller.Extract(r.Context(), propagation.HeaderCarrier(r.Header))
	ctx, span := t.tracer.Start(ctx, route, trace.WithSpanKind(trace.SpanKindServer),
		trace.WithAttributes(attribute.String("http.request.method", r.Method), attribute.String("http.route", route)))
	return ctx, func(err error) {
		if err != nil {
			failed := fault.From(err)
			span.SetAttributes(attribute.String("error.type", string(failed.Code)))
			span.SetStatus(codes.Error, string(failed.Code))
		}
		span.End()
	}
}

// close sends what has not been sent.
func (t *tracing) close(ctx context.Context) error {
	if t == nil {
		return nil
	}
	return t.provider.Shutdown(ctx)
}
