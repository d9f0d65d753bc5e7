// Package protocol is the wire contract of the websocket: the messages of both
// directions, their codes, and how frames are read and written. The HTTP APIs also read
// bodies and queries with it. The server and the load generator share it.
//
// Words of the package:
//
//   - request: a frame of a client; its reply has the same id in "re".
//   - push: a frame that the server sends by itself.
//   - seq: the number of a push in its match.
//   - code: the machine-readable reason of an error.
//   - close code: the reason in a close frame.
//
// Start reading at [ReadRequest] and [EncodeReply]. All functions are pure and safe for
// concurrent use. The package must not know sessions, matches or stores.
package protocol
