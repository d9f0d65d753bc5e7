// Package httpguard makes HTTP servers for untrusted clients. It limits the time of
// requests and the size of their URLs and headers, and counts errors of connections.
//
// Words: the head of a request is its first line and its headers. A connection error is
// an error that net/http reports only as a line of its error log.
//
// The entry point is [NewServer]. Start reading there, then at the guard type, which
// checks each request before the handler. connectionerrors.go turns the log lines of
// net/http into a metric and log records.
//
// The package must not know routes, players or limits per client. The caller adds
// the listener, and TLS if needed.
package httpguard
