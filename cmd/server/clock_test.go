package main

import (
	"bytes"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// wallOff is how far the wall clocks of two nodes are off from the cluster's.
const wallOff = 37 * time.Minute

// The wall clock of a node plays no part in matches: where it is far off from
// the time of Redis, all instants that players are told are the cluster's, and
// questions open, close and are answered as ever.
func TestAWallClockIsOff(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	h := newHouse(t, otherTime(t, server.Addr, wallOff), duelsOf(map[string]duel{
		"demo": {Questions: 2, TimeLimitMS: 3000, CountdownMS: 200, RevealMS: 100},
	}))
	urls := []string{h.node(t).url, h.node(t).url}
	d := meet(t, stranger(t, urls[0], "demo"), stranger(t, urls[1], "demo")).begun(t)
	d.each(func(c *contestant) {
		c.wait = true
		c.isNow(t, "the welcome", c.Welcome.ServerAt)
		c.until(t, protocol.TypeQuestion)
		c.isNow(t, "the opening", c.asked[0].OpensAt)
		told := c.reply(t, true)
		c.isNow(t, "the answer", told.At)
		if took := told.At - c.asked[0].OpensAt; took < 0 || told.ElapsedMS != took {
			t.Errorf("the question opened at %d, the answer is %+v", c.asked[0].OpensAt, told)
		}
	})
	d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
	silent := d[0].until(t, protocol.TypeQuestionClosed) // by its time
	d[0].isNow(t, "the close", d[0].asked[1].ClosesAt)
	if took := silent.Came.UnixMilli() + wallOff.Milliseconds() - d[0].asked[1].ClosesAt; took < 0 {
		t.Errorf("question 1 was closed %d ms before its time", -took)
	}
	playOn(t, d[:]...)
	sameFeed(t, d[:]...)
	settledOnce(t, urls[0], "demo", d[0].over)
}

// Redis's time is shifted while the first node starts and right while the second
// does, as in the audit; then a day ahead. Both nodes are ready and tell the same
// time throughout.
func TestNodesAgreeWhileRedisTimeLeaps(t *testing.T) {
	t.Parallel()
	server, by := testenv.Redis(t), new(atomic.Int64)
	h := newHouse(t, changingTime(t, server.Addr, by), unhurried("demo"))
	by.Store(int64(10 * time.Second))
	here := h.node(t)
	by.Store(0)
	there := h.node(t)
	agree := func(when string) {
		t.Helper()
		for _, n := range []*running{here, there} {
			if status := get(t, n.url+"/readyz", nil); status != http.StatusOK {
				t.Fatalf("%s: a node says %d of its readiness", when, status)
			}
		}
		one, two := timeAt(t, here), timeAt(t, there)
		if apart := (two - one).Abs(); apart > 500*time.Millisecond {
			t.Errorf("%s: two ready nodes are %s apart", when, apart)
		}
	}
	agree("after a step back")
	time.Sleep(3 * time.Second) // several readings
	agree("3 s later")
	before := timeAt(t, here)
	by.Store(int64(24 * time.Hour))
	eventually(t, "the leap is held at both nodes", func() bool {
		return metric(t, here.ops, "laststand_clock_unconfirmed_step_seconds", "") > 80_000 && metric(t, there.ops, "laststand_clock_unconfirmed_step_seconds", "") > 80_000
	})
	agree("while Redis is a day ahead")
	if leapt := timeAt(t, here) - before; leapt > time.Minute {
		t.Errorf("cluster time leapt by %s", leapt)
	}
}

// timeAt is cluster time at a node less this machine's, as its welcome tells it.
func timeAt(t *testing.T, n *running) time.Duration {
	t.Helper()
	g, err := player.NewGuest(t.Context(), n.url, "demo", "")
	if err != nil {
		t.Fatal(err)
	}
	return time.Duration(connect(t, n.url, g).Welcome.ServerAt-time.Now().UnixMilli()) * time.Millisecond
}

// isNow holds that an instant is of the last seconds of cluster time.
func (c *contestant) isNow(t *testing.T, what string, at int64) {
	t.Helper()
	if off := time.Now().Add(wallOff).UnixMilli() - at; off < -100 || off > 2*grantLate.Milliseconds() {
		t.Errorf("%s is said to be %d ms from the time of Redis", what, off)
	}
}

// otherTime is the URL of a Redis that runs ahead of this machine: the server
// by a way on which the replies to TIME are changed.
func otherTime(t *testing.T, addr string, ahead time.Duration) string {
	t.Helper()
	var by atomic.Int64
	by.Store(int64(ahead))
	return changingTime(t, addr, &by)
}

// changingTime is otherTime by what is set at the moment.
func changingTime(t *testing.T, addr string, ahead *atomic.Int64) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { l.Close() })
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", addr)
			if err != nil {
				client.Close()
				continue
			}
			running.Go(func() {
				defer server.Close()
				_, _ = io.Copy(server, client)
			})
			running.Go(func() {
				defer client.Close()
				_, _ = io.Copy(shifted{client, ahead}, server)
			})
		}
	})
	return "redis://" + l.Addr().String()
}

// shifted passes on what a Redis replies, but for its time: a reply as small as
// that comes in one piece.
type shifted struct {
	io.Writer
	by *atomic.Int64 // ns
}

var timeReply = regexp.MustCompile(`^\*2\r\n\$10\r\n(\d{10})\r\n\$\d\r\n\d+\r\n$`)

func (s shifted) Write(reply []byte) (int, error) {
	said := timeReply.FindSubmatch(reply)
	if said == nil {
		return s.Writer.Write(reply)
	}
	seconds, err := strconv.ParseInt(string(said[1]), 10, 64)
	if err != nil {
		return 0, err
	}
	other := strconv.FormatInt(seconds+int64(time.Duration(s.by.Load()).Seconds()), 10)
	return s.Writer.Write(bytes.Replace(reply, said[1], []byte(other), 1))
}
