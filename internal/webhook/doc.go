// Package webhook reports events to an operator's own services: a settled match, an
// arena that is over, a corrected match, a sealed day.
//
// For an event the package makes tasks of the durable queue, one for each endpoint that
// subscribes to it. The caller writes them in the transaction that causes the event. So
// an event is reported if and only if it happened. It arrives at least once, always with
// the same id.
//
// Words: an endpoint is a receiver in the configuration. A delivery is the task that
// sends one event to one endpoint. An attempt is one HTTP request of a delivery. A slot
// is a place in the limit of concurrent attempts to an endpoint. A paused endpoint gets
// no attempts for some time; a disabled one gets none until an operator enables it.
//
// [Registry] knows the endpoints and makes the tasks of events. [Dispatcher] handles
// these tasks and the operators' requests. Start reading at dispatcher.go, which lists the
// tasks, then deliver.go; then Registry.TasksForResult.
//
// The package also signs messages by Standard Webhooks 1.0.0: see signature.go. During
// a change of keys there are two, and a message has one signature for each. No error and
// no format verb may show a key.
//
// The package must not know HTTP clients or SQL: see httpserver.Poster and the interfaces
// in webhook.go.
package webhook
