package httpapi

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// singleListener accepts one connection.
type singleListener struct {
	conn chan net.Conn
}

func (l singleListener) Accept() (net.Conn, error) {
	if c, ok := <-l.conn; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (l singleListener) Close() error   { return nil }
func (l singleListener) Addr() net.Addr { return &net.TCPAddr{} }

// sendSlowly sends a head and then the body, with a pause after each byte. It returns the
// response and the time until it arrived.
func sendSlowly(t *testing.T, head string, body string, pause time.Duration) (status int, text string, took time.Duration) {
	t.Helper()
	synctest.Test(t, func(t *testing.T) {
		server := &http.Server{Handler: New(newTestConfig(&fakeBackend{})), ReadHeaderTimeout: time.Minute}
		clientEnd, serverEnd := net.Pipe()
		listener := singleListener{make(chan net.Conn, 1)}
		listener.conn <- serverEnd
		ended := make(chan struct{})
		go func() { defer close(ended); _ = server.Serve(listener) }()
		startedAt := time.Now()
		written := make(chan struct{})
		go func() {
			defer close(written)
			fmt.Fprintf(clientEnd, "%s\r\nContent-Length: %d\r\n\r\n", head, len(body))
			for i := range len(body) {
				if _, err := clientEnd.Write([]byte{body[i]}); err != nil {
					return
				}
				time.Sleep(pause)
			}
		}()
		answer, err := http.ReadResponse(bufio.NewReader(clientEnd), nil)
		if err != nil {
			t.Fatal(err)
		}
		took = time.Since(startedAt)
		raw, err := io.ReadAll(answer.Body)
		if err != nil {
			t.Error(err)
		}
		_ = answer.Body.Close()
		status, text = answer.StatusCode, string(raw)
		_ = clientEnd.Close()
		<-written
		close(listener.conn)
		_ = server.Close()
		<-ended
	})
	return status, text, took
}

const slowHead = "Host: quiz.example\r\nAuthorization: Bearer service\r\nContent-Type: application/json"

// The server refuses a body that arrives too slowly at the time limit of its request.
func TestATooSlowBodyIsRefused(t *testing.T) {
	t.Parallel()
	for path, within := range map[string]time.Duration{
		"/v1/games/demo/guests":     requestTimeout,
		"/v1/games/demo/behaviours": requestTimeout + largeBodyTimeout,
	} {
		status, text, took := sendSlowly(t, "POST "+path+" HTTP/1.1\r\n"+slowHead, `{"nickname":"`+strings.Repeat("a", 1000)+`"}`, 100*time.Millisecond)
		if status != http.StatusRequestTimeout || !strings.Contains(text, "too slowly") || took > within+time.Second {
			t.Errorf("%s: %d %s after %v", path, status, text, took)
		}
	}
}

func TestASlowBodyInTimeIsAccepted(t *testing.T) {
	t.Parallel()
	body := `{"device":"` + device + `"}`
	status, text, took := sendSlowly(t, "POST /v1/games/demo/guests HTTP/1.1\r\n"+slowHead, body, 50*time.Millisecond)
	if status != http.StatusOK || took < time.Second {
		t.Errorf("%d %s after %v", status, text, took)
	}
}
