// Package proxies determines the client address of connections and requests behind
// trusted proxies, and limits the number of connections. It ignores forwarded
// addresses from all other peers.
//
// Words: a peer is the other end of a TCP connection. A trusted proxy is a peer in a
// configured range. A PROXY header is the first bytes of a connection, by the PROXY
// protocol, with the client address. A stranger is an untrusted peer where such
// headers are required.
//
// The main types are [Trusted], for requests with forwarded headers, and [Door], a
// listener. Start reading at Trusted.Client and Door.Accept.
//
// The package must not know routes, players or TLS. TLS must be added around the
// Door.
package proxies
