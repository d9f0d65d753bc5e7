// Package sink sends behaviours to a file or to a webhook. A file gets one line of JSON for
// each behaviour. A webhook gets one message of Standard Webhooks 1.0.0 for each batch, in
// one of two formats (see [Format]).
//
// Words: an outcome says what became of each item of a batch. A delivery is the part of
// it that applies to the whole batch. A full file is a rotated one; Path.1 is the newest.
// A torn line is a last line without an end, as after a crash.
//
// The main types are [File] and [Webhook], which implement eventq.Sink. One sink of one
// process writes to a file at a time. Other programs may move or truncate the file at any
// moment. Start reading at File.Send in file.go, then openfile.go and rotatefile.go; or at
// Webhook.Send in webhook.go, then body.go, answer.go and connection.go.
//
// The package must not know the queue, its retries or the rate limit. The caller supplies
// the HTTP client, which guards the addresses. Errors must not show a URL, a key or a part
// of a batch.
package sink
