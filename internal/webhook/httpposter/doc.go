// Package httpposter posts messages by Standard Webhooks 1.0.0. It implements
// webhook.Poster.
//
// Words: a target is an endpoint with its URL, keys and HTTP client. An attempt is
// one request; it lasts at most 15 s.
//
// The main type is [Poster]. Start reading at Poster.Post in poster.go.
// connection.go describes attempts without a reply.
//
// Operators see the errors. So an error contains only the host of a URL, and never a key
// or the body of a reply.
//
// The package must not know retries, pauses or the task queue; package webhook
// decides these. The caller supplies an HTTP client that guards the addresses.
package httpposter
