package main

import (
	"context"
	"log/slog"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"

	"laststand/internal/match"
	"laststand/internal/metric"
	"laststand/internal/settle"
	"laststand/internal/webhook"
)

const (
	traceExportTimeout = 5 * time.Second
	traceStopTimeout   = 2 * time.Second // to send the last traces when the node stops
	traceLogInterval   = time.Minute     // between two warnings
)

// tracing sends traces to a collector. Its queue is bounded: while the collector fails, traces
// are lost and counted, and nothing waits.
type tracing struct {
	tracer   trace.Tracer
	provider *sdktrace.TracerProvider // nil: traces are off
}

// newTracing returns the tracing of a node. It makes no connection yet.
func newTracing(ctx context.Context, n *node) (tracing, error) {
	spans := metric.For(n.registry, "laststand_trace_").Counters("spans_total", "Spans of traces by outcome: ended at this node, sent to the collector, failed to be sent. The rest waits or was dropped because too many waited.", "outcome")
	endpoint := n.config.Secret(n.config.Tracing.Endpoint)
	if endpoint == "" {
		return tracing{tracer: noop.NewTracerProvider().Tracer("")}, nil
	}
	exporter, err := otlptracehttp.New(ctx, otlptracehttp.WithEndpointURL(endpoint), otlptracehttp.WithTimeout(traceExportTimeout),
		otlptracehttp.WithRetry(otlptracehttp.RetryConfig{}))
	if err != nil {
		return tracing{}, err
	}
	provider := sdktrace.NewTracerProvider(
		sdktrace.WithSampler(sdktrace.TraceIDRatioBased(n.config.Tracing.SamplePercent/100)),
		sdktrace.WithResource(resource.NewSchemaless(attribute.String("service.name", "laststand"), attribute.String("service.version", version), attribute.String("service.instance.id", n.id))),
		sdktrace.WithSpanProcessor(endedSpans{spans.WithLabelValues("ended")}),
		sdktrace.WithBatcher(&countingExporter{SpanExporter: exporter, sent: spans.WithLabelValues("sent"), failed: spans.WithLabelValues("failed"), log: n.log}),
	)
	return tracing{tracer: provider.Tracer("laststand"), provider: provider}, nil
}

func (t tracing) close() {
	if t.provider == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), traceStopTimeout)
	defer cancel()
	_ = t.provider.Shutdown(ctx) // the exporter has counted and logged its failures
}

type endedSpans struct{ prometheus.Counter }

func (endedSpans) OnStart(context.Context, sdktrace.ReadWriteSpan) {}
func (c endedSpans) OnEnd(sdktrace.ReadOnlySpan)                   { c.Inc() }
func (endedSpans) Shutdown(context.Context) error                  { return nil }
func (endedSpans) ForceFlush(context.Context) error                { return nil }

// countingExporter counts the spans that its exporter sends or loses, and logs failures. The batcher
// calls it from one goroutine at a time.
type countingExporter struct {
	sdktrace.SpanExporter
	sent, failed prometheus.Counter
	log          *slog.Logger
	loggedAt     time.Time
}

// ExportSpans implements sdktrace.SpanExporter. It returns no error, because OpenTelemetry would
// print it again.
func (e *countingExporter) ExportSpans(ctx context.Context, spans []sdktrace.ReadOnlySpan) error {
	err := e.SpanExporter.ExportSpans(ctx, spans)
	if err == nil {
		e.sent.Add(float64(len(spans)))
		return nil
	}
	e.failed.Add(float64(len(spans)))
	if time.Since(e.loggedAt) > traceLogInterval {
		e.loggedAt = time.Now()
		e.log.Warn("trace export failed; the traces are lost", "spans", len(spans), "error", err)
	}
	return nil
}

type tracedLedger struct {
	settle.Ledger
	tracer trace.Tracer
}

// Commit implements settle.Ledger.
func (l tracedLedger) Commit(ctx context.Context, results []match.Result) ([]settle.Committed, error) {
	ctx, span := l.tracer.Start(ctx, "settle results", trace.WithAttributes(attribute.Int("laststand.results", len(results))))
	defer span.End()
	committed, err := l.Ledger.Commit(ctx, results)
	if err != nil {
		span.SetStatus(codes.Error, "the ledger did not commit")
	}
	return committed, err
}

type tracedPoster struct {
	webhook.Poster
	tracer trace.Tracer
}

// Post implements webhook.Poster.
func (p tracedPoster) Post(ctx context.Context, endpoint webhook.Endpoint, message webhook.Message) webhook.Reply {
	ctx, span := p.tracer.Start(ctx, "deliver webhook", trace.WithSpanKind(trace.SpanKindClient),
		trace.WithAttributes(attribute.String("laststand.game", endpoint.Game), attribute.String("laststand.endpoint", endpoint.Name), attribute.String("laststand.message", message.ID)))
	defer span.End()
	reply := p.Poster.Post(ctx, endpoint, message)
	span.SetAttributes(attribute.Int("http.response.status_code", reply.Status))
	if reply.Err != nil {
		span.SetStatus(codes.Error, "the endpoint did not accept the message")
	}
	return reply
}
