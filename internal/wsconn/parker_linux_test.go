package wsconn

import (
	"bufio"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http/httptest"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus/testutil"
)

// echo is a connection that replies to each message with its payload, and its client.
type echo struct {
	*testing.T
	*Conn
	client net.Conn
	reader *bufio.Reader
	ended  atomic.Bool
}

// newEcho starts an echo of a parker.
func newEcho(t *testing.T, parker *Parker) *echo {
	t.Helper()
	socket, client := newTCPPair(t)
	e := &echo{T: t, client: client, reader: bufio.NewReader(client)}
	e.Conn = parker.NewConn(socket, e.run)
	t.Cleanup(e.Close)
	go e.run()
	return e
}

func (e *echo) run() {
	for {
		message, err := e.ReadMessage()
		switch {
		case errors.Is(err, ErrSuspended):
			return
		case err != nil:
			if e.ended.Swap(true) {
				e.Error("the connection ended twice")
			}
			e.Close()
			return
		case message.Kind == Text:
			_ = e.WriteBatch([][]byte{[]byte(string(message.Payload))})
		}
	}
}

// call sends a message and waits for the echo.
func (e *echo) call(text string) {
	e.Helper()
	e.send(maskedFrame(0x81, text))
	e.expect(text)
}

func (e *echo) send(frames []byte) {
	e.Helper()
	if _, err := e.client.Write(frames); err != nil {
		e.Error(err)
	}
}

func (e *echo) expect(text string) {
	e.Helper()
	if _, got := readFrame(e.T, e.reader); string(got) != text {
		e.Errorf("%s, want %s", got, text)
	}
}

func (e *echo) isParkedNow() bool { return e.parkingNumber() != 0 }

func (e *echo) awaitParked() {
	e.Helper()
	eventually(e.T, "the connection is parked", e.isParkedNow)
}

func (e *echo) parkingNumber() uint64 {
	e.parker.mu.Lock()
	defer e.parker.mu.Unlock()
	return e.parking
}

// parkImmediately makes a parker park its connections all the time.
func parkImmediately(config *Config) { config.QuietAfter = time.Millisecond }

func wakeups(p *Parker) float64 { return testutil.ToFloat64(p.Wakeups) }

func countGoroutines(t *testing.T, function string) (count int) {
	t.Helper()
	var stacks strings.Builder
	if err := pprof.Lookup("goroutine").WriteTo(&stacks, 1); err != nil {
		t.Fatal(err)
	}
	for stack := range strings.SplitSeq(stacks.String(), "\n\n") {
		if strings.Contains(stack, function) {
			var n int
			_, _ = fmt.Sscan(stack, &n)
			count += n
		}
	}
	return count
}

// A parked connection has no goroutine and is served as usual. Close ends the epoll
// instance. The test is not parallel: it counts goroutines of the process.
func TestParkedConnectionsHaveNoGoroutine(t *testing.T) { //nolint:paralleltest // see above
	const count = 30
	parker := newParker(t, parkImmediately)
	var echoes []*echo
	for range count {
		echoes = append(echoes, newEcho(t, parker))
	}
	for range 3 {
		for _, e := range echoes {
			e.call("{}")
		}
		eventually(t, "all are parked", func() bool {
			return testutil.ToFloat64(parker.Parked) == count && countGoroutines(t, "wsconn.(*echo)") == 0
		})
	}
	for _, e := range echoes {
		_ = e.client.Close()
	}
	for _, e := range echoes {
		eventually(t, "it has ended", e.ended.Load)
	}
	parker.Close()
	eventually(t, "no goroutine waits for events", func() bool { return countGoroutines(t, "wsconn.(*Parker)") == 0 })
}

// A parked connection ends once, whoever ends it.
func TestParkedConnectionsCanEnd(t *testing.T) {
	t.Parallel()
	parker := newParker(t, parkImmediately)
	for name, end := range map[string]func(*echo){
		"closed with a frame": func(e *echo) { e.SendClose(1013, ""); e.expect("\x03\xf5"); _ = e.client.Close() },
		"closed":              func(e *echo) { e.Close() },
		"client gone":         func(e *echo) { _ = e.client.Close() },
		"client's close":      func(e *echo) { e.send(maskedFrame(0x88, "\x03\xe8")); e.expect("\x03\xe8") },
		"half closed":         func(e *echo) { _ = e.client.(*net.TCPConn).CloseWrite() },
	} {
		e := newEcho(t, parker)
		e.call("{}")
		e.awaitParked()
		end(e)
		eventually(t, name, e.ended.Load)
	}
	if parked := testutil.ToFloat64(parker.Parked); parked != 0 {
		t.Errorf("%v parked", parked)
	}
}

// A connection with half a message is not parked. That it was quiet before does not change the
// message's time limit.
func TestConnectionIsNotParkedMidMessage(t *testing.T) {
	t.Parallel()
	parker := newParker(t, func(c *Config) { parkImmediately(c); c.MessageTimeout = 100 * time.Millisecond })
	for range 20 {
		socket, client := newTCPPair(t)
		conn := parker.NewConn(socket, func() { t.Error("the connection was suspended") })
		conn.limitWait()
		if _, err := client.Write(maskedFrame(0x81, "text")[:3]); err != nil {
			t.Fatal(err)
		}
		for !conn.frames.isMidMessage() {
			if err := conn.waitAndRead(); err != nil && !conn.endQuietWait(err) {
				t.Fatal(err)
			}
			conn.limitWait()
		}
		if _, err := conn.ReadMessage(); !errors.Is(err, ErrMessageTimeout) {
			t.Errorf("%v", err)
		}
		conn.Close()
	}
}

// An event of an earlier parking unparks no connection.
func TestStaleEventsAreIgnored(t *testing.T) {
	t.Parallel()
	parker := newParker(t, parkImmediately)
	var staleEvents []uint64
	for i := range 6 {
		e := newEcho(t, parker)
		e.call("{}")
		e.awaitParked()
		for range 3 {
			staleEvents = append(staleEvents, e.parkingNumber())
			e.call("{}")
			e.awaitParked()
		}
		if i%2 == 0 {
			_ = e.client.Close()
			eventually(t, "it has ended", e.ended.Load)
		}
	}
	before := wakeups(parker)
	parker.handleEvents(append(staleEvents, 1<<40))
	if n := wakeups(parker) - before; n != 0 {
		t.Errorf("%v wakeups", n)
	}
}

// If the epoll instance fails, all connections run again, no connection is parked, and all
// are served as usual.
func TestConnectionsWorkWithoutEpoll(t *testing.T) {
	t.Parallel()
	parker := newParker(t, parkImmediately)
	e := newEcho(t, parker)
	e.awaitParked()
	_ = parker.epoll.file.Close()
	eventually(t, "the failed instance was given up", func() bool {
		parker.mu.Lock()
		defer parker.mu.Unlock()
		return parker.epoll == nil
	})
	for _, e := range []*echo{e, newEcho(t, parker)} {
		for range 3 {
			e.call("{}")
			e.send(maskedFrame(0x8a, "")) // after a pong a quiet connection parks
		}
	}
	if parker.pauseLeft() < 1000*time.Hour || testutil.ToFloat64(parker.Parked) != 0 {
		t.Error("connections try to park without effect")
	}
}

// If the system has no room for more sockets, connections do not try to park again and again.
// Connections that are parked stay so.
func TestParkingPausesWithoutResources(t *testing.T) {
	t.Parallel()
	parker := newParker(t, parkImmediately)
	e, other := newEcho(t, parker), newEcho(t, parker)
	e.awaitParked()
	other.awaitParked()
	parker.mu.Lock()
	parker.pauseAfter(syscall.ENOSPC)
	parker.mu.Unlock()
	before := wakeups(parker)
	for range 3 {
		e.call("{}")
		e.send(maskedFrame(0x8a, "")) // after a pong a quiet connection parks
	}
	e.call("{}")
	if n := wakeups(parker) - before; n != 1 || e.isParkedNow() || !other.isParkedNow() || parker.pauseLeft() < parkingPause/2 {
		t.Errorf("%v wakeups", n)
	}
}

// A client that sends pongs does not unpark its connection each time. The connection stays
// unparked until the client is quiet. ParkSoon parks it after the messages that arrived.
func TestPongsDoNotUnparkConnectionOften(t *testing.T) {
	t.Parallel()
	parker := newParker(t, nil)
	e := newEcho(t, parker)
	e.call("{}")
	if e.isParkedNow() {
		t.Error("parked while messages come")
	}
	e.lastReceived.Add(-int64(2 * time.Hour))
	e.send(maskedFrame(0x8a, "")) // after a quiet time
	e.awaitParked()
	for range 3 {
		e.send(maskedFrame(0x8a, ""))
		e.call("{}")
	}
	if n := wakeups(parker); n != 1 || e.isParkedNow() {
		t.Errorf("%v wakeups", n)
	}
}

// With TLS there is no raw connection: the connection keeps its goroutine.
func TestTLSConnectionIsNotParked(t *testing.T) {
	t.Parallel()
	parker := newParker(t, parkImmediately)
	site := httptest.NewTLSServer(nil)
	defer site.Close()
	socket, client := newTCPPair(t)
	e := &echo{T: t, client: tls.Client(client, &tls.Config{InsecureSkipVerify: true})}
	e.reader = bufio.NewReader(e.client)
	e.Conn = parker.NewConn(tls.Server(socket, &tls.Config{Certificates: site.TLS.Certificates, MinVersion: tls.VersionTLS12}), e.run)
	go e.run()
	for range 3 {
		e.call("{}")
		e.send(maskedFrame(0x8a, ""))
	}
	if e.isParkedNow() || testutil.ToFloat64(parker.Parked) != 0 {
		t.Error("it was parked")
	}
	_ = e.client.Close()
	eventually(t, "it has ended", e.ended.Load)
}

// Messages to connections that are parked and unparked all the time, in pieces of any
// size, are answered once and in order. Each connection ends once, whichever side ends it.
func TestConcurrentParkingAndClosingLosesNoMessage(t *testing.T) {
	t.Parallel()
	const clients, rounds, messages = 24, 3, 25
	parker := newParker(t, parkImmediately)
	var running sync.WaitGroup
	for i := range clients {
		running.Go(func() {
			rng := rand.New(rand.NewPCG(uint64(i), 1))
			for range rounds {
				e := newEcho(t, parker)
				for range messages {
					e.callInChunks(rng)
				}
				for _, end := range []func(){func() { _ = e.client.Close() }, func() { e.SendClose(1013, "") }, e.Close}[rng.IntN(3):] {
					go end()
				}
				go e.Close()
				eventually(t, "the connection has ended", e.ended.Load)
			}
		})
	}
	running.Wait()
	if n := wakeups(parker); n < clients*rounds || testutil.ToFloat64(parker.Parked) != 0 {
		t.Errorf("%v wakeups", n)
	}
}

// callInChunks sends one to three messages with pongs between them, in pieces, sometimes to a
// parked connection.
func (e *echo) callInChunks(rng *rand.Rand) {
	if rng.IntN(4) == 0 {
		e.awaitParked()
	}
	var unsent []byte
	texts := make([]string, 1+rng.IntN(3))
	for i := range texts {
		texts[i] = fmt.Sprintf("{%d%s}", i, strings.Repeat("x", rng.IntN(60)))
		unsent = append(unsent, maskedFrame(0x81, texts[i])...)
		if rng.IntN(2) == 0 {
			unsent = append(unsent, maskedFrame(0x8a, "")...)
		}
	}
	for len(unsent) > 0 {
		n := 1 + rng.IntN(len(unsent))
		e.send(unsent[:n])
		unsent = unsent[n:]
	}
	for _, text := range texts {
		e.expect(text)
	}
}
