// Package webhooksink sends behaviours to a webhook. A batch is one message of
// Standard Webhooks 1.0.0, in one of two formats (see [Format]).
//
// Words: an outcome says what became of each item of a batch. A delivery is the part
// of it that applies to the whole batch.
//
// The main type is [Sink], which implements eventq.Sink. Start reading at Sink.Send
// in sink.go. Then body.go makes the message, answer.go reads the answer, and
// connection.go handles attempts without one.
//
// The package must not know the queue, its retries or the rate limit. The caller
// supplies the HTTP client, which guards the addresses. Errors must not show the
// URL, a key or a part of the batch.
package webhooksink
