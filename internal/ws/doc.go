// Package ws serves the players' websockets. It translates client frames into calls
// of the game and the game's pushes into frames, and decides nothing else.
//
// Words of the package:
//
//   - session: one live websocket of one player; its read loop owns it.
//   - hello: the first frame, with the token; the server replies with a welcome.
//   - outbox: the bounded queue of encoded frames of a session.
//   - bind: make a session the only one of its player, over all nodes.
//   - park: wait for a quiet client without a goroutine.
//   - evict: close a session in favour of another one.
//   - reject: close a connection or a hello that gets no place; the client retries.
//   - drain: close all sessions before the node stops.
//
// The main type is [Server]. Start reading at Server.ServeHTTP, then session.run,
// session.dispatch and the handlers. A frame takes the way clientConn, frameReader,
// session, handler; a push takes the way outbox, writer, clientConn.
//
// The package must not know rules of matches, stores or HTTP routes. Numbers of
// sessions come from package redissession.
package ws
