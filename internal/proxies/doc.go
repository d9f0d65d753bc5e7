// Package proxies determines the client address of connections and requests behind
// trusted proxies, and limits the number of connections. It ignores forwarded
// addresses from all other peers.
//
// Words: a peer is the other end of a TCP connection. A trusted proxy is a peer in a
// configured range. A PROXY header is the start of a connection by the PROXY protocol;
// it contains the client address. A stranger is an untrusted peer of a listener that
// requires such headers.
//
// The main types are [TrustedProxies], for requests with forwarded headers, and
// [Listener]. Start reading at TrustedProxies.ClientAddress and Listener.Accept.
//
// The package must not know routes, players or TLS. The caller adds TLS around the
// Listener.
package proxies
