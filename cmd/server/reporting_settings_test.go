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
	n := r.node(t)
	writeBeside(t, r.config, "hook.key", newWebhookKey+"\n"+oldWebhookKey)
	for _, game := range r.games {
		r.queue(n, "paused", "pause", "--game="+game, "--reason=paused")
	}
	for game, want := range map[string]map[eventq.Reason]int64{
		"oldest": {eventq.QueueFull: 3}, "newest": {eventq.QueueFull: 3}, "aged": {}, "batch": {}, "rate": {}, "hot": {},
	} {
		r.postLines(n, game, 8, 8-int(want[eventq.QueueFull]))
		if c := r.countsOf(game); c.Queued != 8-want[eventq.QueueFull] || !maps.Equal(c.Dropped, want) {
			t.Errorf("%s: %+v, want %v dropped", game, c, want)
		}
	}
	r.postLines(n, "reject", 8, -1)
	r.postLines(n, "reject", 5, 5)
	r.queue(n, "batch 4 of 4", "set-max-len", "--game=batch", "4")
	r.queue(n, `{"id":"batch-7"`, "peek", "--game=batch")
	waitUntil(t, "the behaviours of aged are too old", func() bool {
		all, err := r.admin.Status(t.Context(), []string{"aged"}, 0)
		return err == nil && time.Now().UnixMilli()-all[0].OldestAt > 1500
	})
	for _, game := range r.games {
		r.queue(n, game, "resume", "--game="+game)
	}
	r.queue(n, "batch: the queue is empty", "drain", "--game=batch")
	for game, want := range map[string]string{
		"oldest": "34567", "newest": "01234", "reject": "01234", "batch": "456,7", "aged": "", "rate": "0,1,2,3,4,5,6,7", "hot": "01234567",
	} {
		c := r.waitUntilIdle(game)
		if got := r.lastIDDigits(game); got != want || c.Sent != int64(len(strings.ReplaceAll(want, ",", ""))) {
			t.Errorf("%s: the receiver got %q, want %q; %+v", game, got, want, c)
		}
	}
	if c := r.countsOf("aged"); c.Dropped[eventq.TooOld] != 8 {
		t.Errorf("aged: %+v", c)
	}
	all := r.batchesOf("rate")
	if took := all[7].tries[0].Sub(all[0].tries[0]); took < 3*time.Second {
		t.Errorf("8 tries at 2 a second took %v", took)
	}
	r.queue(n, " own ", "list", "--game=hot")
	r.checkNewKey(n)
}

// runQueueCommand runs a `server queue` command, whose output must contain wantText.
func (r *reportingTest) queue(n *testNode, runQueueCommand string, args ...string) {
	r.t.Helper()
	flags := append(ledgerFlags(r.db), "--config="+r.config, "--ops-listen="+strings.TrimPrefix(n.opsURL, "http://"))
	code, out, errs := command(append(append([]string{"queue"}, args...), flags...)...)
	if stderr := strings.Join(strings.Fields(out), " "); code != 0 || !strings.Contains(" "+stderr+" ", runQueueCommand) {
		r.t.Errorf("queue %v ended with %d: %s%s", args, code, out, errs)
	}
}

// postLines posts behaviours with ids that end in different digits. The server must accept this
// many of them, or refuse the post for -1.
func (r *reportingTest) postLines(n *testNode, game string, count, accepted int) {
	r.t.Helper()
	now := time.Now().UnixMilli()
	var lines strings.Builder
	for i := range count {
		lines.WriteString(`{"id":"` + game + "-" + string(rune('0'+i)) + `","type":"answer","account":"guest","at":` + strconv.FormatInt(now, 10) + "}\n")
	}
	status, stderr := r.postTo(n.url, game, lines.String())
	if accepted < 0 {
		if status != http.StatusServiceUnavailable {
			r.t.Errorf("a post larger than the free part of the queue got %d, %+v", status, stderr)
		}
		return
	}
	if status != http.StatusAccepted || stderr.Accepted != accepted {
		r.t.Errorf("%s: %d, %+v", game, status, stderr)
	}
}

// lastIDDigits returns the last digits of the ids that the receiver got, with a comma between
// batches.
func (r *reportingTest) lastIDDigits(game string) string {
	var batches []string
	for _, m := range r.batchesOf(game) {
		batch := ""
		for _, b := range m.items {
			batch += b.ID[len(b.ID)-1:]
		}
		batches = append(batches, batch)
	}
	return strings.Join(batches, ",")
}

// checkNewKey waits until the node has read the key that the file now lists first. Then the
// node must sign with that key.
func (r *reportingTest) checkNewKey(n *testNode) {
	r.t.Helper()
	waitUntil(r.t, "the keys are reloaded", func() bool {
		return strings.Count(n.log.String(), "receiver keys reloaded") == len(r.games)
	})
	r.mu.Lock()
	r.key = newWebhookKey
	r.mu.Unlock()
	before := len(r.batchesOf("hot"))
	r.post("hot", 3, n.url)
	r.waitUntilIdle("hot")
	if after := r.batchesOf("hot"); len(after) != before+1 || !after[before].itemsByOutcome {
		r.t.Errorf("%d batches signed with the new key arrived, want 1", len(after)-before)
	}
}
