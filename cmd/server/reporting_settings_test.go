package main

import (
	"maps"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

// The settings of a game take effect in a running server, and so do changes that operators make
// by commands. A new key of a webhook takes effect some seconds later.
func TestReportingSettingsTakeEffectInARunningServer(t *testing.T) {
	t.Parallel()
	const settings = fastReporting + ", max_len: 5, overflow: "
	r := newReportingTest(t, testenv.Redis(t).URL, map[string]string{
		"oldest": settings + "drop_oldest", "newest": settings + "drop_newest", "reject": settings + "reject",
		"batch": "batch: {max_size: 3}, rate: {per_second: 1000, burst: 1000}", "aged": fastReporting + ", max_age: 1s",
		"rate": "batch: {max_size: 1, flush_interval: 50ms}, rate: {per_second: 2, burst: 1}", "hot": fastReporting + ", hot: true",
	})
	node := r.node(t)
	testenv.WriteBeside(t, r.config, "hook.key", testenv.NewWebhookKey+"\n"+testenv.OldWebhookKey)
	for _, game := range r.games {
		r.runQueueCommand(node, "paused", "pause", "--game="+game, "--reason=paused")
	}
	for game, want := range map[string]map[eventq.Reason]int64{
		"oldest": {eventq.QueueFull: 3}, "newest": {eventq.QueueFull: 3}, "aged": {}, "batch": {}, "rate": {}, "hot": {},
	} {
		r.postLines(node, game, 8, 8-int(want[eventq.QueueFull]))
		if c := r.gameCounts(game); c.Queued != 8-want[eventq.QueueFull] || !maps.Equal(c.Dropped, want) {
			t.Errorf("%s: %+v, want %v dropped", game, c, want)
		}
	}
	r.postLines(node, "reject", 8, -1)
	r.postLines(node, "reject", 5, 5)
	r.runQueueCommand(node, "batch 4 of 4", "set-max-len", "--game=batch", "4")
	r.runQueueCommand(node, `{"id":"batch-7"`, "peek", "--game=batch")
	waitUntil(t, "the behaviours of aged are too old", func() bool {
		all, err := r.admin.Status(t.Context(), []string{"aged"}, 0)
		return err == nil && time.Now().UnixMilli()-all[0].OldestAt > 1500
	})
	for _, game := range r.games {
		r.runQueueCommand(node, game, "resume", "--game="+game)
	}
	r.runQueueCommand(node, "batch: the queue is empty", "drain", "--game=batch")
	for game, want := range map[string]string{
		"oldest": "34567", "newest": "01234", "reject": "01234", "batch": "456,7", "aged": "", "rate": "0,1,2,3,4,5,6,7", "hot": "01234567",
	} {
		c := r.waitUntilIdle(game)
		if got := r.lastIDDigits(game); got != want || c.Sent != int64(len(strings.ReplaceAll(want, ",", ""))) {
			t.Errorf("%s: the receiver got %q, want %q; %+v", game, got, want, c)
		}
	}
	if c := r.gameCounts("aged"); c.Dropped[eventq.TooOld] != 8 {
		t.Errorf("aged: %+v", c)
	}
	all := r.gameBatches("rate")
	if duration := all[7].tries[0].Sub(all[0].tries[0]); duration < 3*time.Second {
		t.Errorf("8 tries at 2 a second took %v", duration)
	}
	r.runQueueCommand(node, " hot 0 0 ", "list", "--game=hot")
	r.checkNewKey(node)
}

// runQueueCommand runs a `server queue` command, whose output must contain wantText.
func (r *reportingTest) runQueueCommand(node *testNode, wantText string, args ...string) {
	r.t.Helper()
	out := node.run(r.t, 0, append([]string{"queue"}, args...)...)
	checkContains(r.t, " "+strings.Join(strings.Fields(out), " ")+" ", wantText)
}

// postLines posts behaviours with ids that end in different digits. The server must accept this
// many of them, or refuse the post for -1.
func (r *reportingTest) postLines(node *testNode, game string, count, wantAccepted int) {
	r.t.Helper()
	now := time.Now().UnixMilli()
	var lines strings.Builder
	for i := range count {
		lines.WriteString(`{"id":"` + game + "-" + string(rune('0'+i)) + `","type":"answer","account":"guest","at":` + strconv.FormatInt(now, 10) + "}\n")
	}
	status, result := r.postTo(node.url, game, lines.String())
	if wantAccepted < 0 {
		if status != http.StatusServiceUnavailable {
			r.t.Errorf("a post larger than the free part of the queue got %d, %+v", status, result)
		}
		return
	}
	if status != http.StatusAccepted || result.Accepted != wantAccepted {
		r.t.Errorf("%s: %d, %+v", game, status, result)
	}
}

// lastIDDigits returns the last digits of the ids that the receiver got, with a comma between
// batches.
func (r *reportingTest) lastIDDigits(game string) string {
	var batches []string
	for _, received := range r.gameBatches(game) {
		digits := ""
		for _, item := range received.items {
			digits += item.ID[len(item.ID)-1:]
		}
		batches = append(batches, digits)
	}
	return strings.Join(batches, ",")
}

// checkNewKey waits until the node has read the key that the file now lists first. Then the
// node must sign with that key.
func (r *reportingTest) checkNewKey(node *testNode) {
	r.t.Helper()
	waitUntil(r.t, "the keys are reloaded", func() bool {
		return strings.Count(node.log.String(), "keys reloaded") == len(r.games)
	})
	r.mu.Lock()
	r.keys = testenv.NewWebhookKey
	r.mu.Unlock()
	before := len(r.gameBatches("hot"))
	r.post("hot", 3, node.url)
	r.waitUntilIdle("hot")
	if after := r.gameBatches("hot"); len(after) != before+1 || !after[before].isAccepted {
		r.t.Errorf("%d batches signed with the new key arrived, want 1", len(after)-before)
	}
}
