// Package sink sends behaviours to a file, a webhook or the anti-addiction system of
// China's National Press and Publication Administration (NPPA). A file gets one line of JSON
// for each behaviour. A webhook gets one message of Standard Webhooks 1.0.0 for each batch,
// in one of two formats (see [Format]). The NPPA gets online and offline behaviours, by its
// interface for collecting behaviours, specification 1.8 of February 2021. Every attempt is
// numbered, encrypted and signed again; a record is sent again if its answer was lost, as
// the specification demands.
//
// Words: an outcome says what became of each item of a batch. A delivery is the part of
// it that applies to the whole batch. A full file is a rotated one; Path.1 is the newest.
// A torn line is a last line without an end, as after a crash. An errcode is the NPPA's
// answer for a batch or an item. A PI is the id of a verified player at the NPPA.
//
// The main types are [File], [Webhook] and [NPPA], which implement eventq.Sink. One sink of one
// process writes to a file at a time. Other programs may move or truncate the file at any
// moment. Start reading at File.Send in file.go, then openfile.go; or at
// Webhook.Send in webhook.go, then body.go and answer.go; or at NPPA.Send in
// nppa.go.
//
// The package must not know the queue, its retries or the rate limit. The caller supplies
// the HTTP client, which guards the addresses. Errors must not show a URL, a key or a part
// of a batch.
package sink
