// Package origin decides which web pages may call the server, by the origin that the
// browser sends (RFC 6454).
//
// Words: an origin is the scheme, host and port of a page, such as
// https://play.example.com. The server's own origin is the one of the Host header;
// it is always allowed.
//
// The main type is [List], which holds the other allowed origins. Start reading at
// List.Allows. [Parse] defines the accepted texts.
//
// Browsers send the true origin of a page, but other programs can send any origin. So
// this check protects players against foreign pages; it does not authenticate clients.
//
// The package must not know HTTP handlers, websockets or the configuration.
package origin
