// Package ws serves the players' websockets. It translates client frames into calls
// of the game and the game's pushes into frames, and decides nothing else.
//
// Words of the package:
//
//   - session: one live websocket of one player; its read loop owns it.
//   - hello: the first frame, with the token; the server replies with a welcome.
//   - outbox: the bounded queue of encoded frames of a session.
//   - place: one of the MaxConnections connections that a node accepts, see package overload.
//   - bind: make a session the only one of its player, at any node.
//   - evict: close a session so that another one gets its place.
//   - reject: close a connection that gets no place or whose hello is refused; the client
//     retries.
//   - drain: close all sessions before the node stops.
//
// The main type is [Server]. Start reading at Server.ServeHTTP and session.run. Calls go
// one way: session, admission (the hello), requests (the handlers), presence (the player),
// connection (outbox and close). Package wsconn reads and writes the websocket.
//
// The package must not know rules of matches, stores or HTTP routes. Package redisstore
// assigns the numbers of sessions.
package ws
