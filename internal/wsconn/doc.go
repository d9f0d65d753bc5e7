// Package wsconn is the server's end of websocket connections after the handshake (RFC
// 6455): it reads messages, writes batches of them, and closes. A quiet connection costs no
// goroutine, no buffer and no timer.
//
// Words of the package:
//
//   - message: a complete text or binary message, or a ping or a pong.
//   - park: wait for a quiet client without a goroutine.
//   - suspend: end the goroutine that reads; another one continues later.
//
// The main types are [Conn] and [Parker]. Start reading in read.go (ReadMessage,
// suspend) and write.go, then parker.go; conn.go reads and writes the socket. The package must not know what messages mean.
package wsconn
