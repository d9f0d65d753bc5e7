package redisqueue

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

const someday = 1_795_212_345_678

// sessionTest is a test with a session store that has no other sessions, and its own
// nodes and game.
type sessionTest struct {
	*testing.T
	*Store
	game string
	a, b string // nodes
}

// sharedSessions serializes the tests that share a cluster, which has one index of nodes.
var sharedSessions sync.Mutex

func eachSessionTest(t *testing.T, f func(h *sessionTest)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		sharedSessions.Lock()
		defer sharedSessions.Unlock()
		c.Del(t.Context(), nodesKey)
		id := ulid.Make().String()
		f(&sessionTest{T: t, Store: New(c), game: "game." + id, a: "a " + id, b: "b " + id})
	})
}

func (h *sessionTest) record(player string, at int64) eventq.SessionRecord {
	return eventq.SessionRecord{Game: h.game, Session: "s_" + player, Offline: eventq.Behaviour{
		ID: "off:s_" + player, Type: eventq.Offline, At: at, Player: player, Session: "s_" + player,
		Account: eventq.Guest, Device: "d", Data: json.RawMessage(`{"x":1}`),
	}}
}

// sync stores changes of a node.
func (h *sessionTest) sync(node string, all ...eventq.SessionRecord) {
	h.Helper()
	if err := h.SyncSessions(h.Context(), node, all); err != nil {
		h.Fatal(err)
	}
}

func ended(all ...eventq.SessionRecord) []eventq.SessionRecord {
	all = slices.Clone(all)
	for i := range all {
		all[i].Ended = true
	}
	return all
}

// heartbeat makes a heartbeat of a node, and checks when which nodes were seen.
func (h *sessionTest) heartbeat(node string, now int64, want map[string]int64) {
	h.Helper()
	if seen, err := h.Heartbeat(h.Context(), node, now); err != nil || !maps.Equal(seen, want) {
		h.Errorf("seen %v, %v, want %v", seen, err, want)
	}
}

// at returns the sessions of a node, which is known from now on.
func (h *sessionTest) at(node string) []eventq.SessionRecord {
	h.Helper()
	h.client.ZAddNX(h.Context(), nodesKey, redis.Z{Member: node, Score: someday})
	return testenv.Need(h.Sessions(h.Context(), node, int64(h.client.ZScore(h.Context(), nodesKey, node).Val()), 400))(h.T)
}

// A node that has come back keeps its sessions and its place among the nodes.
func TestSessionsOfANodeThatCameBackStay(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.heartbeat(h.a, someday, map[string]int64{h.a: someday})
		h.sync(h.a, h.record("ada", someday))
		h.heartbeat(h.a, someday+12_000, map[string]int64{h.a: someday + 12_000})
		if found, err := h.Sessions(h.Context(), h.a, someday, 400); err != nil || len(found) > 0 {
			h.Errorf("%+v, %v", found, err)
		}
		h.sync(h.a, ended(h.at(h.a)...)...)
		if found, err := h.Sessions(h.Context(), h.a, someday, 400); err != nil || len(found) > 0 {
			h.Errorf("%+v, %v", found, err)
		}
		h.heartbeat(h.b, someday, map[string]int64{h.a: someday + 12_000, h.b: someday})
	})
}

// A session belongs to its node until it is removed. Without sessions a dead node is forgotten.
func TestSessionsOfNodes(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		ada, bob := h.record("ada", someday), h.record("bob", someday+5)
		h.heartbeat(h.a, someday, map[string]int64{h.a: someday})
		h.sync(h.a, ada)
		h.sync(h.b, bob)
		h.heartbeat(h.b, someday+5, map[string]int64{h.a: someday, h.b: someday + 5})
		h.heartbeat(h.b, someday+1005, map[string]int64{h.a: someday, h.b: someday + 1005})
		found := h.at(h.a)
		if len(found) != 1 || !same(found[0], ada) {
			h.Fatalf("%+v, want %+v", found, ada)
		}
		for range 2 {
			h.sync(h.a, ended(found...)...)
			if found := h.at(h.a); len(found) > 0 {
				h.Errorf("%+v left", found)
			}
		}
		h.heartbeat(h.b, someday+2000, map[string]int64{h.b: someday + 2000})
		h.sync(h.b, ended(bob)...)
		if left, err := h.client.Exists(h.Context(), sessionsKey(h.a), sessionsKey(h.b)).Result(); err != nil || left != 0 {
			h.Errorf("%d keys left, %v", left, err)
		}
	})
}

func same(a, b eventq.SessionRecord) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// A session that started and ended is not stored.
func TestAShortSession(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		short, long := h.record("short", someday), h.record("long", someday)
		for range 2 {
			h.sync(h.a, append(ended(short), short, long)...)
			if found := h.at(h.a); len(found) != 1 || !same(found[0], long) {
				h.Errorf("found %+v", found)
			}
		}
	})
}

// Many sessions of a node are returned in parts, each session until it is
// removed.
func TestManySessionsOfANode(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		const players = 1500
		want := make(map[string]bool)
		var all []eventq.SessionRecord
		for i := range players {
			v := h.record(fmt.Sprint("p", i), someday)
			all, want[v.Session] = append(all, v), true
		}
		for chunk := range slices.Chunk(all, 400) {
			h.sync(h.a, chunk...)
		}
		for len(want) > 0 {
			found := h.at(h.a)
			if len(found) == 0 || len(found) > 400 {
				h.Fatalf("%d found, %d left", len(found), len(want))
			}
			for _, v := range found {
				if !want[v.Session] {
					h.Fatalf("%s again", v.Session)
				}
				delete(want, v.Session)
			}
			h.sync(h.a, ended(found...)...)
		}
	})
}

// Unreadable sessions have only their ids. They do not hold up others.
func TestUnreadableSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		ada := h.record("ada", someday)
		h.sync(h.a, ada)
		h.client.HSet(h.Context(), sessionsKey(h.a), "s_strange", "{", "s_torn", `{"game":"g","session":1}`)
		found := h.at(h.a)
		slices.SortFunc(found, func(a, b eventq.SessionRecord) int { return cmp.Compare(a.Session, b.Session) })
		if len(found) != 3 || !same(found[0], ada) || !same(found[1], eventq.SessionRecord{Session: "s_strange"}) || !same(found[2], eventq.SessionRecord{Session: "s_torn"}) {
			h.Errorf("%+v", found)
		}
		h.sync(h.a, ended(found...)...)
		if found := h.at(h.a); len(found) > 0 {
			h.Errorf("at last %+v", found)
		}
	})
}

// Sessions of a node without heartbeats expire after long.
func TestSessionsExpire(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.sync(h.a, h.record("ada", someday))
		ttl, err := h.client.PTTL(h.Context(), sessionsKey(h.a)).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour {
			h.Errorf("lives %v, %v", ttl, err)
		}
		h.client.PExpire(h.Context(), sessionsKey(h.a), time.Minute)
		h.heartbeat(h.a, someday, map[string]int64{h.a: someday})
		if ttl := h.client.PTTL(h.Context(), sessionsKey(h.a)).Val(); ttl <= time.Minute {
			h.Errorf("seen, and lives %v", ttl)
		}
	})
}

func TestSessionStoreOutOfReach(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	a := New(client)
	v := eventq.SessionRecord{Game: "demo", Session: "s"}
	for name, call := range map[string]func(context.Context) error{
		"sync": func(ctx context.Context) error {
			return a.SyncSessions(ctx, "a", []eventq.SessionRecord{v})
		},
		"heartbeat": func(ctx context.Context) error {
			_, err := a.Heartbeat(ctx, "a", someday)
			return err
		},
		"sessions": func(ctx context.Context) error {
			_, err := a.Sessions(ctx, "a", someday, 10)
			return err
		},
	} {
		if call(t.Context()) == nil {
			t.Errorf("%s without a Redis", name)
		}
	}
}
