// Package httpguard makes HTTP servers for untrusted clients. It limits the time and
// the size of requests before routing, and counts errors of connections.
//
// Words: the head of a request is its first line and its headers. A fault is an
// error of a connection that net/http reports only as a log line.
//
// The entry point is [NewServer]. Start reading there, then at the guard type, which
// checks every request first. faults.go turns log lines of net/http into a metric
// and log records.
//
// The package must not know routes, players or limits per client. The caller adds
// the listener, and TLS if needed.
package httpguard
