// Package httpposter posts messages by Standard Webhooks 1.0.0. It implements
// webhook.Poster. It also makes HTTP clients that reach only the public internet, for the
// addresses that operators of games configure.
//
// Words: a target is an endpoint with its URL, keys and HTTP client. An attempt is
// one request; it lasts at most 15 s. An address is public if the registries of IANA list
// it as globally reachable, and if no other address is embedded in it.
//
// The main type is [Poster]. Start reading at Poster.Post in poster.go. [NewClient] is in
// client.go, with the list of addresses that are not public.
//
// Operators see the errors. So an error contains only the host of a URL, and never a key
// or the body of a reply.
//
// The package must not know retries, pauses, the task queue or the configuration.
package httpposter
