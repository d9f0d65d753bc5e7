package main

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"regexp"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/config"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/players"
)

// wallClockOffset is how far the wall clocks of two nodes differ from the cluster's.
const wallClockOffset = 37 * time.Minute

// The wall clock of a node has no effect on matches. If it differs far from the time of Redis,
// players still get all instants in cluster time. Questions open, close and accept answers as
// always.
func TestAWrongWallClockDoesNotAffectMatches(t *testing.T) {
	t.Parallel()
	server := testenv.Redis(t)
	cluster := newTestCluster(t, redisWithOffset(t, server.Addr, wallClockOffset), duelsConfig(map[string]config.Duel{
		"demo": {Questions: 2, TimeLimitMS: 3000, CountdownMS: 200, RevealMS: 100},
	}))
	urls := []string{cluster.node(t).url, cluster.node(t).url}
	duel := startDuel(t, urls[0], urls[1], "demo")
	duel.each(func(c *matchClient) {
		c.waitForSettled = true
		c.checkRecent(t, "the welcome", c.Welcome.ServerAt)
		c.readUntilPush(t, protocol.TypeQuestion)
		c.checkRecent(t, "the opening", c.asked[0].OpensAt)
		instants := c.submitAndRead(t, true)
		c.checkRecent(t, "the answer", instants.At)
		if took := instants.At - c.asked[0].OpensAt; took < 0 || instants.ElapsedMS != took {
			t.Errorf("the question opened at %d, the answer is %+v", c.asked[0].OpensAt, instants)
		}
	})
	duel.each(func(c *matchClient) { c.readUntilPush(t, protocol.TypeQuestion) })
	closed := duel[0].readUntilPush(t, protocol.TypeQuestionClosed) // question 1 closes at its deadline
	duel[0].checkRecent(t, "the close", duel[0].asked[1].ClosesAt)
	if took := closed.ReceivedAt.UnixMilli() + wallClockOffset.Milliseconds() - duel[0].asked[1].ClosesAt; took < 0 {
		t.Errorf("question 1 was closed %d ms before its time", -took)
	}
	playToEnd(t, duel[:]...)
	checkSamePushes(t, duel[:]...)
	checkSettledOnce(t, urls[0], "demo", duel[0].over)
}

// The time of Redis is 10 s ahead while the first node starts, and right while the second starts.
// Then it is a day ahead. Each time both nodes are ready and report the same
// time.
func TestNodesAgreeWhileTheTimeOfRedisJumps(t *testing.T) {
	t.Parallel()
	server, offset := testenv.Redis(t), new(atomic.Int64)
	cluster := newTestCluster(t, redisWithChangingOffset(t, server.Addr, offset), slowDuels("demo"))
	offset.Store(int64(10 * time.Second))
	first := cluster.node(t)
	offset.Store(0)
	second := cluster.node(t)
	checkAgreement := func(when string) {
		t.Helper()
		for _, node := range []*testNode{first, second} {
			// After a reading that takes over 200 ms on a busy machine, a node is not ready until the next.
			waitUntil(t, when+": both nodes are ready", func() bool { return get(t, node.url+"/readyz", nil) == http.StatusOK })
		}
		firstLeast, firstMost := clusterTimeOffset(t, first)
		secondLeast, secondMost := clusterTimeOffset(t, second)
		if difference := max(secondLeast-firstMost, firstLeast-secondMost); difference > 500*time.Millisecond {
			t.Errorf("%s: the times of two ready nodes differ by %s", when, difference)
		}
	}
	checkAgreement("after a step back")
	time.Sleep(3 * time.Second) // several readings
	checkAgreement("3 s later")
	_, before := clusterTimeOffset(t, first)
	offset.Store(int64(24 * time.Hour))
	waitUntil(t, "both nodes report the jump as unconfirmed", func() bool {
		return sumMetric(t, first.opsURL, "laststand_clock_unconfirmed_step_seconds", "") > 80_000 && sumMetric(t, second.opsURL, "laststand_clock_unconfirmed_step_seconds", "") > 80_000
	})
	checkAgreement("while Redis is a day ahead")
	if after, _ := clusterTimeOffset(t, first); after-before > time.Minute {
		t.Errorf("cluster time jumped by %s", after-before)
	}
}

// clusterTimeOffset returns the least and the most that a node's cluster time, as in its welcome,
// can be ahead of the time of this machine. A welcome may take long on a busy machine.
func clusterTimeOffset(t *testing.T, node *testNode) (least, most time.Duration) {
	t.Helper()
	g := testenv.Need(player.CreateGuest(t.Context(), node.url, "demo", ""))(t)
	before := time.Now()
	welcomedAt := time.UnixMilli(connect(t, node.url, g).Welcome.ServerAt)
	return time.Until(welcomedAt), welcomedAt.Sub(before)
}

// checkRecent checks that an instant is within the last seconds of cluster time.
func (c *matchClient) checkRecent(t *testing.T, name string, instant int64) {
	t.Helper()
	if offset := time.Now().Add(wallClockOffset).UnixMilli() - instant; offset < -100 || offset > 2*maxLatenessOnBusyMachine.Milliseconds() {
		t.Errorf("%s is %d ms before the time of Redis", name, offset)
	}
}

// redisWithOffset returns the URL of a Redis that runs ahead of this machine. It is a proxy
// that changes the replies of the clock's script.
func redisWithOffset(t *testing.T, addr string, ahead time.Duration) string {
	t.Helper()
	var offset atomic.Int64
	offset.Store(int64(ahead))
	return redisWithChangingOffset(t, addr, &offset)
}

// redisWithChangingOffset is redisWithOffset with an offset in ns that may change.
func redisWithChangingOffset(t *testing.T, addr string, offset *atomic.Int64) string {
	t.Helper()
	listener := testenv.Need(net.Listen("tcp", "127.0.0.1:0"))(t)
	var running sync.WaitGroup
	t.Cleanup(running.Wait)
	t.Cleanup(func() { listener.Close() })
	running.Go(func() {
		for {
			client, err := listener.Accept()
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
				_, _ = io.Copy(timeShifter{client, offset}, server)
			})
		}
	})
	return "redis://" + listener.Addr().String()
}

// timeShifter forwards the replies of a Redis and shifts its time in those of the clock's
// script. Such a reply is so small that it arrives in one piece.
type timeShifter struct {
	io.Writer
	offset *atomic.Int64 // ns
}

// timeReply is the time of Redis, the cluster time of the record, and the time of Redis at
// that moment, in µs.
var timeReply = regexp.MustCompile(`^\*3\r\n:(\d{16})\r\n:(\d+)\r\n:(\d+)\r\n$`)

func (s timeShifter) Write(reply []byte) (int, error) {
	groups := timeReply.FindSubmatch(reply)
	if groups == nil {
		return s.Writer.Write(reply)
	}
	shift := func(micros []byte) int64 {
		n, _ := strconv.ParseInt(string(micros), 10, 64)
		if n == 0 { // no record
			return 0
		}
		return n + s.offset.Load()/1000
	}
	if _, err := fmt.Fprintf(s.Writer, "*3\r\n:%d\r\n:%s\r\n:%d\r\n", shift(groups[1]), groups[2], shift(groups[3])); err != nil {
		return 0, err
	}
	return len(reply), nil
}
