package config

// Tracing configures OpenTelemetry traces of HTTP requests, answers, commits to the ledger and
// webhooks. They contain no tokens, names, addresses or contents of answers.
type Tracing struct {
	// URL of a collector that takes OTLP over HTTP, such as http://127.0.0.1:4318/v1/traces. The server drops traces that the collector does not accept. Empty: no traces.
	Endpoint string `yaml:"endpoint" check:"optional url" allowed:"http:// or https:// URL, file:PATH, credential:NAME"`
	// Percentage of requests, answers, commits and webhooks that are traced, each by chance. Higher: more traces and more CPU.
	SamplePercent float64 `yaml:"sample_percent" default:"1" range:"0..100"`
}

// TracingEndpoint returns the URL of the collector; "": none.
func (c *Config) TracingEndpoint() string { return c.secret(c.Tracing.Endpoint) }
