package main

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/player"
)

// Redis denies the nodes to tell each other anything, which they do not notice:
// each may publish to its own inbox only. Players are pushed everything all the
// same, from the log, some later, and that their result is settled too, once.
func TestNodesCannotTellEachOther(t *testing.T) {
	t.Parallel()
	h := newHouse(t, "", unhurried("demo"))
	here, there := h.mute(t)
	d := meet(t, stranger(t, here.url, "demo"), stranger(t, there.url, "demo")).begun(t)
	for range 4 {
		d.each(func(c *contestant) { c.until(t, protocol.TypeQuestion) })
		for i, c := range d {
			other := d[1-i]
			c.reply(t, true)
			from := time.Now()
			seen := other.await(t, "the other's answer", func(f player.Frame) bool { return seenOf(f, c.id) })
			t.Logf("seen at the other node after %s", seen.Came.Sub(from))
			if late := seen.Came.Sub(from); late > grantLate {
				t.Errorf("an answer was seen at the other node after %s", late)
			}
		}
		d.each(func(c *contestant) { c.until(t, protocol.TypeQuestionClosed) })
	}
	d.each(func(c *contestant) { c.until(t, protocol.TypeMatchOver) })
	sameFeed(t, d[:]...)
	settledOnce(t, here.url, "demo", d[0].over)
	eventually(t, "both players are told that it is settled", func() bool {
		d.each(func(c *contestant) { c.request(t, protocol.TypePing, protocol.Ping{At: json.RawMessage("1")}) })
		return d[0].settled != nil && d[1].settled != nil
	})
	for _, c := range d {
		var profile struct{ Rating int }
		get(t, here.url+"/v1/games/demo/players/"+c.id, &profile)
		if final := c.settled.Rating; final == nil || *final != profile.Rating {
			t.Errorf("%s was told %+v, and has %d", c.id, c.settled, profile.Rating)
		}
	}
	if metric(t, here.ops, "laststand_match_push_gaps_total")+metric(t, there.ops, "laststand_match_push_gaps_total") == 0 {
		t.Error("nothing was read from the log: were the nodes denied to tell each other?")
	}
}

func seenOf(f player.Frame, id string) bool {
	var seen protocol.AnswerSeen
	return f.Type == protocol.TypeAnswerSeen && json.Unmarshal(f.Data, &seen) == nil && seen.Player == id
}

// mute starts two nodes that Redis keeps from telling each other anything.
func (h house) mute(t *testing.T) (one, two *running) {
	t.Helper()
	server := testenv.Redis(t)
	admin := redis.NewClient(&redis.Options{Addr: server.Addr})
	t.Cleanup(func() { admin.Close() })
	acl := func(user string, rules ...any) {
		if err := admin.Do(t.Context(), append([]any{"ACL", "SETUSER", user}, rules...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	var inboxes []string
	start := func(user string) *running {
		acl(user, "on", ">secret", "~*", "&*", "+@all")
		h.redis = strings.Replace(server.URL, "redis://", "redis://"+user+":secret@", 1)
		n := h.node(t)
		eventually(t, "the node's inbox is subscribed", func() bool {
			now := admin.PubSubChannels(t.Context(), "inbox:*").Val()
			if len(now) == len(inboxes) {
				return false
			}
			own := slices.DeleteFunc(slices.Clone(now), func(name string) bool { return slices.Contains(inboxes, name) })
			acl(user, "resetchannels", "&"+own[0])
			inboxes = now
			return true
		})
		return n
	}
	return start("one"), start("two")
}
