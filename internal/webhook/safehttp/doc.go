// Package safehttp makes HTTP clients for untrusted addresses, which the operators
// of games configure. A client reaches only the public internet.
//
// It checks the address of each connection after the name was resolved. So a DNS
// answer cannot lead to a private address or to the metadata service of a cloud. The
// client follows no redirects.
//
// Words: an address is public if the registries of IANA list it as globally
// reachable, and if no other address is embedded in it.
//
// The entry point is [New], which returns an *http.Client. Start reading at
// client.go, then guard.go with the list of addresses that are not public.
//
// The package must not know webhooks, games or the configuration.
package safehttp
