// Package filesink writes behaviours to a file, one line of JSON each. It rotates
// the file by size.
//
// Words: a full file is a rotated one; Path.1 is the newest. A torn line is a last
// line without an end, as after a crash.
//
// The main type is [Sink], which implements eventq.Sink. One sink of one process
// writes to a file at a time. Other programs may move or truncate the file at any
// moment.
//
// Start reading at Sink.Send in sink.go, then file.go for opening and locking, and
// rotate.go for rotation.
//
// The package must not know the content of a behaviour, the queue or its retries.
package filesink
