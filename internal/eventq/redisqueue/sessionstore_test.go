package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/eventq/playerevents"
	"laststand/internal/testenv"
)

const someday = 1_795_212_345_678

// sessionTest is a test with a session store, and its own nodes and game.
type sessionTest struct {
	*testing.T
	*SessionStore
	game string
	a, b string // nodes
	part int    // the partition
}

func eachSessionTest(t *testing.T, f func(h *sessionTest)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		id := ulid.Make().String()
		h := &sessionTest{T: t, SessionStore: NewSessionStore(c), game: "game." + id, a: "a " + id, b: "b " + id}
		h.part = partitionOf(h.game)
		f(h)
	})
}

func (h *sessionTest) record(player string, at int64) playerevents.SessionRecord {
	return playerevents.SessionRecord{Game: h.game, Session: "s_" + player, Offline: eventq.Behaviour{
		ID: "off:s_" + player, Type: eventq.Offline, At: at, Player: player, Session: "s_" + player,
		Account: eventq.Guest, Device: "d", Data: json.RawMessage(`{"x":1}`),
	}}
}

func (h *sessionTest) add(node string, all ...playerevents.SessionRecord) {
	h.Helper()
	if err := h.Add(h.Context(), node, all...); err != nil {
		h.Fatal(err)
	}
}

func (h *sessionTest) remove(node string, all ...playerevents.SessionRecord) {
	h.Helper()
	if err := h.Remove(h.Context(), node, all...); err != nil {
		h.Fatal(err)
	}
}

// deadSessions returns the sessions of this test's nodes that are not alive.
func (h *sessionTest) deadSessions(limit int, alive ...string) (found []playerevents.SessionRecord, node string) {
	h.Helper()
	for {
		nodes, err := h.client.ZRange(h.Context(), newPartition(h.part).sessionNodes(), 0, -1).Result()
		if err != nil {
			h.Fatal(err)
		}
		for _, n := range nodes {
			if n != h.a && n != h.b {
				alive = append(alive, n)
			}
		}
		found, node, err = h.DeadNodeSessions(h.Context(), h.part, alive, limit)
		if err != nil {
			h.Fatal(err)
		}
		if node == "" || node == h.a || node == h.b { // else another test's node came meanwhile
			return found, node
		}
	}
}

func (h *sessionTest) wantNoDeadSessions(alive ...string) {
	h.Helper()
	if found, node := h.deadSessions(10, alive...); len(found) != 0 || node != "" {
		h.Errorf("orphans %v of %q", found, node)
	}
}

// A session belongs to its node while the node is alive. Afterwards other nodes
// can end it.
func TestDeadNodeSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		ada, bob := h.record("ada", someday), h.record("bob", someday+5)
		h.add(h.a, ada)
		h.add(h.b, bob)
		h.wantNoDeadSessions(h.a, h.b)
		found, node := h.deadSessions(10, h.b)
		if node != h.a || len(found) != 1 || !same(found[0], ada) {
			h.Fatalf("%+v of %q, want %+v", found, node, ada)
		}
		for range 2 {
			h.remove(h.a, found...)
			h.wantNoDeadSessions(h.b)
		}
		h.remove(h.b, bob)
		h.wantNoDeadSessions()
		if left, err := h.client.Exists(h.Context(), newPartition(h.part).sessions(h.a), newPartition(h.part).sessions(h.b)).Result(); err != nil || left != 0 {
			h.Errorf("%d keys left, %v", left, err)
		}
	})
}

func same(a, b playerevents.SessionRecord) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// Sessions of a dead node were last seen at its last renewal, and never before
// they began.
func TestLastSeen(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.add(h.a, h.record("ada", someday))
		check := func(operation string, want int64) {
			h.Helper()
			found, _ := h.deadSessions(10)
			if len(found) != 1 || found[0].Offline.At != want {
				h.Errorf("%s: %+v, want it seen at %d", operation, found, want)
			}
		}
		if err := h.Renew(h.Context(), h.a, []string{h.game, h.game}, someday+5000); err != nil {
			h.Fatal(err)
		}
		check("seen", someday+5000)
		h.add(h.a, h.record("ada", someday+10))
		check("entered again, late", someday+5000)
		h.add(h.a, h.record("ada", someday+7000))
		check("entered later than seen", someday+7000)
		if err := h.Renew(h.Context(), h.b, []string{h.game}, someday); err != nil {
			h.Fatal(err)
		}
		h.wantNoDeadSessions(h.a) // without visits a node is none
	})
}

// Many sessions of dead nodes are returned in parts, each session until it is
// removed.
func TestManyDeadNodeSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		const players = 1500
		want := make(map[string]bool)
		var all []playerevents.SessionRecord
		for i := range players {
			v := h.record(fmt.Sprint("p", i), someday)
			all, want[v.Session] = append(all, v), true
		}
		h.add(h.a, all...)
		for len(want) > 0 {
			found, node := h.deadSessions(400)
			if len(found) == 0 || len(found) > 400 || node != h.a {
				h.Fatalf("%d of %q, %d left", len(found), node, len(want))
			}
			for _, v := range found {
				if !want[v.Session] {
					h.Fatalf("%s again", v.Session)
				}
				delete(want, v.Session)
			}
			h.remove(node, found...)
		}
		h.wantNoDeadSessions()
	})
}

// The store logs and forgets unreadable sessions. They do not hold up others.
func TestUnreadableSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		const nobodys = partitions + 1 // so that no other test finds it
		key := newPartition(nobodys).sessions(h.a)
		ada, _ := json.Marshal(h.record("ada", someday))
		h.client.HSet(h.Context(), key, "s_ada", ada, "s_strange", "{")
		h.client.ZAdd(h.Context(), newPartition(nobodys).sessionNodes(), redis.Z{Member: h.a, Score: someday})
		if found, node, err := h.DeadNodeSessions(h.Context(), nobodys, nil, 10); err != nil || len(found) != 1 || found[0].Session != "s_ada" || node != h.a {
			h.Errorf("%+v of %q, %v", found, node, err)
		}
		h.client.HDel(h.Context(), key, "s_ada")
		if _, _, err := h.DeadNodeSessions(h.Context(), nobodys, nil, 10); err == nil || !strings.Contains(err.Error(), "1 visits of node "+h.a) {
			h.Errorf("error %v", err)
		}
		if found, node, err := h.DeadNodeSessions(h.Context(), nobodys, nil, 10); err != nil || len(found) > 0 || node != "" {
			h.Errorf("at last %+v of %q, %v", found, node, err)
		}
	})
}

// Sessions that their node does not renew for long expire, and so does the node.
func TestSessionsExpire(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.add(h.a, h.record("ada", someday))
		ttl, err := h.client.PTTL(h.Context(), newPartition(h.part).sessions(h.a)).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour {
			h.Errorf("lives %v, %v", ttl, err)
		}
		h.client.PExpire(h.Context(), newPartition(h.part).sessions(h.a), time.Minute)
		if err := h.Renew(h.Context(), h.a, []string{h.game}, someday); err != nil {
			h.Fatal(err)
		}
		if ttl := h.client.PTTL(h.Context(), newPartition(h.part).sessions(h.a)).Val(); ttl <= time.Minute {
			h.Errorf("seen, and lives %v", ttl)
		}
		h.client.Del(h.Context(), newPartition(h.part).sessions(h.a)) // as when it expires
		h.wantNoDeadSessions()
		if nodes := h.client.ZRange(h.Context(), newPartition(h.part).sessionNodes(), 0, -1).Val(); slices.Contains(nodes, h.a) {
			h.Errorf("the node stays among %q", nodes)
		}
	})
}

// Sessions of games in many partitions are stored and found together.
func TestSessionsOfManyGames(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		parts := make(map[int]int)
		var all []playerevents.SessionRecord
		for i := range 50 {
			v := h.record(fmt.Sprint("p", i), someday)
			v.Game = fmt.Sprint(h.game, ".", i)
			all = append(all, v)
			parts[partitionOf(v.Game)]++
		}
		h.add(h.a, all...)
		for h.part = range parts {
			if found, _ := h.deadSessions(100); len(found) != parts[h.part] {
				h.Errorf("%d in %d, want %d", len(found), h.part, parts[h.part])
			}
		}
		h.remove(h.a, all...)
		for h.part = range parts {
			h.wantNoDeadSessions()
		}
	})
}

func TestSessionStoreOutOfReach(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	a := NewSessionStore(client)
	v := playerevents.SessionRecord{Game: "demo", Session: "s"}
	for name, call := range map[string]func(context.Context) error{
		"enter": func(ctx context.Context) error { return a.Add(ctx, "a", v) },
		"exit":  func(ctx context.Context) error { return a.Remove(ctx, "a", v) },
		"seen":  func(ctx context.Context) error { return a.Renew(ctx, "a", []string{"demo"}, someday) },
		"orphans": func(ctx context.Context) error {
			_, _, err := a.DeadNodeSessions(ctx, 0, nil, 10)
			return err
		},
	} {
		if call(t.Context()) == nil {
			t.Errorf("%s without a Redis", name)
		}
	}
}
