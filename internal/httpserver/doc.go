// Package httpserver makes the HTTP listeners of the server safe for untrusted clients. It
// limits connections, and the time and the size of requests. It finds the address of a
// client behind proxies, and decides which web pages may call the server. It serves TLS with
// a certificate that it reloads.
//
// The HTTP API and the admin API read bodies and write responses with ReadJSON, [Respond] and
// [Problem]. The package also has the HTTP client that posts webhooks. Operators of games
// configure the addresses of webhooks, so the client reaches only the public internet.
//
// Words:
//
//   - Head: the first line of a request and its headers.
//   - Connection error: an error that net/http reports only as a line of its error log.
//   - Peer: the other end of a TCP connection.
//   - Client: the program behind the peer, after trusted proxies.
//   - PROXY protocol: a header before the first byte of a connection, in which a proxy
//     names the address of its client.
//   - Origin: the scheme, host and port of a web page (RFC 6454), such as
//     https://play.example.com.
//   - Public address: one that the registries of IANA list as globally reachable, and that
//     has no other address embedded in it.
//
// Start reading at [New], which returns the server of a listener. [Listener] limits
// connections, [TrustedProxies] finds client addresses, [Origins] checks pages, and
// [Certificate] serves TLS. [NewClient] and [Poster] send requests. Each stands alone;
// cmd/server connects them.
//
// The package must not know routes, players or rate limits.
package httpserver
