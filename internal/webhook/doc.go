// Package webhook reports events to an operator's own services: a settled match, an
// arena that is over, a sealed day.
//
// An event becomes tasks of the durable queue, one for each endpoint that wants it.
// They are written in the transaction that causes the event. So an event is reported
// if and only if it happened. It arrives at least once, always with the same id.
//
// Words: an endpoint is a receiver in the configuration. A delivery is the task that
// sends one event to one endpoint. A slot is the right to one attempt at a time. A
// paused endpoint gets no attempts for a while; a disabled one gets none until it is
// enabled.
//
// [Registry] knows the endpoints and writes events as tasks. [Dispatcher] works
// these tasks and serves operators. Start reading at webhook.go, then
// Registry.Settled and Dispatcher.deliver.
//
// The package must not know HTTP, signatures or SQL: see httpposter, signature and
// the interfaces in webhook.go.
package webhook
