package ws

import (
	"errors"
	"net"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// ping stands in an outbox for a websocket ping: no other frame is empty.
var ping = []byte{}

// startWriter starts the goroutine that writes what is queued, and ends when
// nothing is.
func (se *session) startWriter() {
	go se.write() // end waits for it
}

// write writes until nothing is queued: one goroutine at a time, see outbox.
func (se *session) write() {
	for batch := se.out.take(); batch != nil; batch = se.out.take() {
		if err := se.send(batch); err != nil {
			se.out.close()
			se.broken(err)
		}
	}
}

func (se *session) send(batch [][]byte) error {
	for _, frame := range batch {
		kind := websocket.TextMessage
		if len(frame) == 0 {
			kind = websocket.PingMessage
		}
		_ = se.conn.SetWriteDeadline(time.Now().Add(se.server.writeWithin)) // it cannot fail
		if err := se.conn.WriteMessage(kind, frame); err != nil {
			return err
		}
	}
	return nil
}

// broken closes a session whose client takes nothing for too long. On any
// other error of a write the read loop ends by itself.
func (se *session) broken(err error) {
	var late net.Error
	if errors.As(err, &late) && late.Timeout() {
		se.close(protocol.CloseSlowReader, tooSlow)
	}
}
