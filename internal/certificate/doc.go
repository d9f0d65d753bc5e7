// Package certificate serves TLS with a certificate from two files and reloads them
// after changes.
//
// Words: a pair is a certificate, with the chain to its root, and its private key. A
// load is a read of changed files. If a load fails, the previous certificate stays
// in use, and a metric counts the failure.
//
// The main type is [Pair]. Start reading at Open, then Pair.TLSConfig, which returns the
// configuration of a server, and Pair.Run, which reloads changed files.
//
// [CheckFiles] checks two files without serving them. The check of a configuration uses
// it.
//
// The package must not know listeners, HTTP or the source of the certificates.
package certificate
