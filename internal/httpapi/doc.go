// Package httpapi is the HTTP part of the wire contract (PROTOCOL.md). It
// translates requests into calls of the game's services, and their results and
// errors into JSON. It decides nothing about games.
//
// Words:
//
//   - Route: one operation of the contract. routes.go lists all of them.
//   - Problem: the body of an error answer (RFC 9457). errorTable in errors.go
//     maps the errors of the game to problems.
//   - Client error: an error that this package decides by itself, with the code
//     and the text for the client.
//   - Slot: the right of a request to use the node's time. The number of slots
//     is the limit of concurrent requests.
//   - Revocable call: a long poll that ends early when its token is revoked.
//
// New makes the handler. Start reading in serve.go, which shows what happens to
// every request: time limit, query, slot, load shedding, rate limits, handler,
// error.
//
// This package must not know about Redis, SQL or the frames of the websocket.
// It sees the services only through the interfaces in api.go.
package httpapi
