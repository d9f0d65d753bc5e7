package client

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
)

// lengths are payload lengths at which the frame header changes, and lengths that no
// buffer holds.
var lengths = []int{2, 125, 126, 127, 4095, 4096, 65535, 65536, 300_000}

func textOf(length int) string {
	return `"` + strings.Repeat("é", length/2-1) + strings.Repeat("x", length%2) + `"`
}

// served starts a server that uses the library. It says hello and then calls serve.
func served(t *testing.T, serve func(*websocket.Conn) error) *Player {
	t.Helper()
	failed := make(chan error, 1)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		u := websocket.Upgrader{Subprotocols: []string{protocol.Subprotocol}}
		conn, err := u.Upgrade(w, r, nil)
		if err == nil {
			_, _, err = conn.ReadMessage()
		}
		if err == nil {
			err = conn.WriteMessage(websocket.TextMessage, protocol.EncodePush(protocol.TypeWelcome, protocol.Welcome{}))
		}
		if err == nil {
			err = serve(conn)
		}
		failed <- err
	}))
	t.Cleanup(server.Close)
	p, err := Dialer{Lean: true}.Connect(t.Context(), server.URL, Guest{}, nil)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = p.Close()
		if err := <-failed; err != nil {
			t.Errorf("the server: %v", err)
		}
	})
	return p
}

// A fastConn reads every frame that the library writes, of any length and in any pieces.
// It also answers pings. The first frames come right behind the welcome.
func TestLineReads(t *testing.T) {
	t.Parallel()
	var ponged string
	p := served(t, func(conn *websocket.Conn) error {
		conn.SetPongHandler(func(body string) error { ponged = body; return nil })
		for i, n := range lengths {
			if err := conn.WriteMessage(websocket.TextMessage, []byte(textOf(n))); err != nil {
				return err
			}
			if i == 3 {
				if err := conn.WriteControl(websocket.PingMessage, []byte("there?"), time.Now().Add(time.Second)); err != nil {
					return err
				}
			}
		}
		raw := append([]byte{finalBit | textFrame, 4}, "last"...)
		for i := range raw { // one byte at a time
			if _, err := conn.NetConn().Write(raw[i : i+1]); err != nil {
				return err
			}
		}
		_, body, err := conn.ReadMessage()
		if want := `{"id":2,"type":"answer","data":{}}`; err == nil && (string(body) != want || ponged != "there?") {
			err = fmt.Errorf("the line said %s and %q", body, ponged)
		}
		return err
	})
	var came []int
	err := p.fastConn.each(func(text []byte) (bool, error) {
		if string(text) == "last" {
			return true, nil
		}
		if string(text) != textOf(len(text)) {
			return false, fmt.Errorf("%d bytes are others", len(text))
		}
		came = append(came, len(text))
		return false, nil
	})
	if fmt.Sprint(came) != fmt.Sprint(lengths) || err != nil {
		t.Errorf("%v came, want %v: %v", came, lengths, err)
	}
	if id, err := p.SendData(protocol.TypeAnswer, []byte("{}")); id != 2 || err != nil {
		t.Errorf("asked as %d: %v", id, err)
	}
}

// The library reads every frame that a fastConn writes, of any length.
func TestLineSays(t *testing.T) {
	t.Parallel()
	p := served(t, func(conn *websocket.Conn) error {
		for _, n := range lengths[:7] {
			if _, body, err := conn.ReadMessage(); err != nil || !bytes.Equal(body, []byte(textOf(n))) {
				return fmt.Errorf("%d bytes were read as %d: %w", n, len(body), err)
			}
		}
		return conn.WriteMessage(websocket.TextMessage, []byte("thanks"))
	})
	for _, n := range lengths[:7] {
		if err := p.fastConn.write(textFrame, []byte(textOf(n))); err != nil {
			t.Fatal(err)
		}
	}
	if err := p.fastConn.each(func([]byte) (bool, error) { return true, nil }); err != nil {
		t.Error(err)
	}
}

// A fastConn returns an error if the server closes it or sends an invalid frame. It also
// does so if the connection is cut, and if no frame comes in time.
func TestLineEnds(t *testing.T) {
	t.Parallel()
	for name, raw := range map[string]string{
		"closed": "\x88\x02\x03\xe8", "cut amid a frame": "\x81\x05ab", "a binary frame": "\x82\x01a", "a masked frame": "\x81\x81keysa",
		"too large": "\x81\x7f\x00\x00\x00\x00\x7f\xff\xff\xff", "nothing": "",
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			until := make(chan struct{})
			p := served(t, func(conn *websocket.Conn) error {
				_, err := conn.NetConn().Write([]byte(raw))
				if name == "nothing" {
					<-until
				}
				return errors.Join(err, conn.Close())
			})
			defer close(until)
			if name == "nothing" {
				_ = p.fastConn.SetReadDeadline(time.Now())
			}
			err := p.fastConn.each(func(text []byte) (bool, error) { return true, fmt.Errorf("%q was taken", text) })
			if err == nil || strings.Contains(err.Error(), "taken") || errors.Is(err, os.ErrDeadlineExceeded) != (name == "nothing") ||
				errors.Is(err, io.ErrUnexpectedEOF) != (name == "cut amid a frame") {
				t.Errorf("it ended with %v", err)
			}
		})
	}
}

// A fastConn also ends if the connection was cut before it read the last frames. The
// system reports the data and the end together, and only once.
func TestConnReportsAnEarlierClose(t *testing.T) {
	t.Parallel()
	connected, ended := make(chan struct{}), make(chan struct{})
	p := served(t, func(conn *websocket.Conn) error {
		defer close(ended)
		<-connected // frames that come with the welcome are read with it
		_, err := conn.NetConn().Write([]byte("\x81\x05ab"))
		return errors.Join(err, conn.Close())
	})
	close(connected)
	<-ended
	c, err := new(net.Dialer).DialContext(t.Context(), "tcp", p.fastConn.RemoteAddr().String()) // now the system has processed the close
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if err := p.SetReadTimeout(20 * time.Second); err != nil {
		t.Fatal(err)
	}
	err = p.fastConn.each(func(text []byte) (bool, error) { return true, fmt.Errorf("%q was taken", text) })
	if !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("it ended with %v", err)
	}
}
