package main

import (
	"compress/gzip"
	"fmt"
	"io"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	"google.golang.org/protobuf/proto"

	"laststand/internal/cli"
	"laststand/internal/testenv"
	"laststand/internal/webhook"
)

// traceCollector takes traces by OTLP over HTTP.
type traceCollector struct {
	mu    sync.Mutex
	spans map[string]int // by name
	text  strings.Builder
}

func (c *traceCollector) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body := io.Reader(r.Body)
	if r.Header.Get("Content-Encoding") == "gzip" {
		unzipped, err := gzip.NewReader(r.Body)
		if err != nil {
			w.WriteHeader(http.StatusBadRequest)
			return
		}
		body = unzipped
	}
	data, err := io.ReadAll(body)
	var request collector.ExportTraceServiceRequest
	if err != nil || proto.Unmarshal(data, &request) != nil {
		w.WriteHeader(http.StatusBadRequest)
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	c.text.WriteString(request.String())
	for _, resource := range request.ResourceSpans {
		for _, scope := range resource.ScopeSpans {
			for _, span := range scope.Spans {
				c.spans[span.Name]++
			}
		}
	}
}

// tracingConfigText returns a configuration whose game has a webhook and whose traces go to an
// endpoint.
func tracingConfigText(webhook, endpoint string) string {
	return webhookConfigText("UTC", fmt.Sprintf(`{name: w, url: "%s/w", secret_file: hook.key, allow_private: true}`, webhook)) +
		fmt.Sprintf("tracing: {endpoint: %q, sample_percent: 100}\n", endpoint)
}

func startTracedNode(t *testing.T, endpoint string) (node *testNode, receiver *webhookReceiver) {
	t.Helper()
	receiver = newWebhookReceiver(t)
	dir := t.TempDir()
	flags := cli.Flags{Data: &dir, Config: configFile(t, tracingConfigText(receiver.URL, endpoint))}
	testenv.WriteBeside(t, flags.Config, "hook.key", testenv.OldWebhookKey)
	return startNode(t, flags), receiver
}

// A request, an answer, a settlement and a webhook are traced. The traces have no names, tokens
// or answers of players.
func TestTracesReachTheCollector(t *testing.T) {
	t.Parallel()
	traces := &traceCollector{spans: make(map[string]int)}
	node, receiver := startTracedNode(t, testenv.Serve(t, traces.ServeHTTP)+"/v1/traces")
	players := playDuels(t, node.url, 2)
	receiver.waitForAccepted("w", webhook.MatchSettled, len(players)/2)
	node.stop() // sends the last traces
	traces.mu.Lock()
	defer traces.mu.Unlock()
	for name, least := range map[string]int{"POST /v1/games/{game}/guests": 4, "answer": 4 * duelQuestions, "settle results": 1, "deliver webhook": 2} {
		if traces.spans[name] < least {
			t.Errorf("%d spans %q arrived, want at least %d: %v", traces.spans[name], name, least, traces.spans)
		}
	}
	for _, c := range players {
		if strings.Contains(traces.text.String(), c.Token) || strings.Contains(traces.text.String(), c.Nickname) {
			t.Error("a trace has the token or the nickname of a player")
		}
	}
}

// A collector that fails or does not answer harms nothing. The lost spans are counted, and a stop
// does not wait for the collector.
func TestAFailingCollectorHarmsNothing(t *testing.T) {
	t.Parallel()
	for name, endpoint := range map[string]string{
		"refuses connections": testenv.RefusingURL(t),
		"answers 500":         testenv.Serve(t, func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusInternalServerError) }),
		"does not answer":     testenv.Serve(t, testenv.NeverRespond),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			node, receiver := startTracedNode(t, endpoint)
			receiver.waitForAccepted("w", webhook.MatchSettled, len(playDuels(t, node.url, 2))/2)
			waitUntilWithin(t, time.Minute, "lost traces are counted", func() bool {
				return sumMetric(t, node.opsURL, "laststand_trace_spans_total", `outcome="failed"`) > 0
			})
			if !strings.Contains(node.log.String(), "trace export failed") {
				t.Errorf("the log does not say that traces are lost:\n%s", node.log)
			}
			stopping := time.Now()
			node.stop()
			if took := time.Since(stopping); took > 30*time.Second {
				t.Errorf("the stop took %v", took)
			}
		})
	}
}
