// Package httpapi is the HTTP part of the wire contract (docs/openapi.yaml). It
// translates requests into calls of the game's services, and their results and
// errors into JSON. It decides nothing about games.
//
// Words:
//
//   - Route: one operation of the contract. They are listed in routes.go.
//   - Problem: the body of an error response (RFC 9457). The errors of the game
//     are mapped to problems by errorTable.
//   - Slot: a place in the limit of concurrent requests. A request needs one
//     while the node works for it.
//   - Revocable call: a long poll that ends early when its token is revoked.
//
// New returns the handler. Start reading in mux.go and routes.go. serve.go shows the
// steps of each request: time limit, query, slot, load shedding, rate limits,
// authentication (gate.go), handler, error. request.go reads bodies and pages.
//
// This package must not know Redis, SQL or the frames of the websocket. It calls
// the services only through the interfaces in config.go.
package httpapi
