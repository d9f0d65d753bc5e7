package redisqueue

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/eventq"
	"laststand/internal/testenv"
)

const someday = 1_795_212_345_678

// age is how long a node must be unseen in these tests, in ms.
const age = 1000

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
		c.Del(t.Context(), sessionNodesKey)
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

func (h *sessionTest) add(node string, all ...eventq.SessionRecord) {
	h.Helper()
	h.addAt(someday, node, all...)
}

// addAt adds sessions at a time.
func (h *sessionTest) addAt(now int64, node string, all ...eventq.SessionRecord) {
	h.Helper()
	if err := h.Sync(h.Context(), node, all, now); err != nil {
		h.Fatal(err)
	}
}

func (h *sessionTest) remove(node string, all ...eventq.SessionRecord) {
	h.Helper()
	if err := h.Sync(h.Context(), node, ended(all...), 0); err != nil {
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

func (h *sessionTest) renew(node string, now int64) {
	h.Helper()
	if err := h.Sync(h.Context(), node, nil, now); err != nil {
		h.Fatal(err)
	}
}

func (h *sessionTest) deadSessions(now int64) (found []eventq.SessionRecord, node string) {
	h.Helper()
	found, node, err := h.DeadNodeSessions(h.Context(), now, age, 400)
	if err != nil {
		h.Fatal(err)
	}
	return found, node
}

func (h *sessionTest) wantNoDeadSessions(now int64) {
	h.Helper()
	if found, node := h.deadSessions(now); len(found) != 0 || node != "" {
		h.Errorf("orphans %v of %q", found, node)
	}
}

// A session belongs to its node while the node is renewed. Afterwards other nodes
// can end it.
func TestDeadNodeSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		ada, bob := h.record("ada", someday), h.record("bob", someday+5)
		h.add(h.a, ada)
		h.add(h.b, bob)
		h.wantNoDeadSessions(someday + age - 1)
		h.renew(h.b, someday+age)
		found, node := h.deadSessions(someday + age)
		if node != h.a || len(found) != 1 || !same(found[0], ada) {
			h.Fatalf("%+v of %q, want %+v", found, node, ada)
		}
		for range 2 {
			h.remove(h.a, found...)
			h.wantNoDeadSessions(someday + age)
		}
		h.remove(h.b, bob)
		h.wantNoDeadSessions(someday + 10*age)
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

// Sessions of a dead node were last seen at its last renewal, and never before
// they began.
func TestLastSeen(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.add(h.a, h.record("ada", someday))
		check := func(operation string, want int64) {
			h.Helper()
			found, _ := h.deadSessions(someday + 100*age)
			if len(found) != 1 || found[0].Offline.At != want {
				h.Errorf("%s: %+v, want it seen at %d", operation, found, want)
			}
		}
		h.renew(h.a, someday+5000)
		check("seen", someday+5000)
		h.addAt(someday+10, h.a, h.record("ada", someday+10))
		check("entered again, late", someday+5000)
		h.addAt(someday+7000, h.a, h.record("ada", someday+10))
		check("stored later than seen", someday+7000)
		h.add(h.a, h.record("ada", someday+8000))
		check("entered later than seen", someday+8000)
		h.remove(h.a, h.record("ada", someday))
		h.renew(h.b, someday)
		h.wantNoDeadSessions(someday + 100*age) // without visits a node is none
	})
}

// A dead node whose clock was ahead is found at once, and not when its time comes.
func TestADeadNodeOfTheFuture(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.addAt(someday+3_600_000, h.a, h.record("ada", someday))
		h.addAt(someday+age-1, h.b, h.record("bob", someday))
		if found, node := h.deadSessions(someday); node != h.a || len(found) != 1 {
			h.Errorf("%+v of %q", found, node)
		}
	})
}

// A session that started and ended is not stored.
func TestAShortSession(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		short, long := h.record("short", someday), h.record("long", someday)
		for range 2 {
			if err := h.Sync(h.Context(), h.a, append(ended(short), short, long), someday); err != nil {
				h.Fatal(err)
			}
			if found, _ := h.deadSessions(someday + age); len(found) != 1 || !same(found[0], long) {
				h.Errorf("found %+v", found)
			}
		}
	})
}

// Many sessions of dead nodes are returned in parts, each session until it is
// removed.
func TestManyDeadNodeSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		const players = 1500
		want := make(map[string]bool)
		var all []eventq.SessionRecord
		for i := range players {
			v := h.record(fmt.Sprint("p", i), someday)
			all, want[v.Session] = append(all, v), true
		}
		for chunk := range slices.Chunk(all, 400) {
			h.add(h.a, chunk...)
		}
		for len(want) > 0 {
			found, node := h.deadSessions(someday + age)
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
		h.wantNoDeadSessions(someday + age)
	})
}

// The store logs and forgets unreadable sessions. They do not hold up others.
func TestUnreadableSessions(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		key := sessionsKey(h.a)
		ada, _ := json.Marshal(h.record("ada", someday))
		h.client.HSet(h.Context(), key, "s_ada", ada, "s_strange", "{")
		h.client.ZAdd(h.Context(), sessionNodesKey, redis.Z{Member: h.a, Score: someday})
		if found, node, err := h.DeadNodeSessions(h.Context(), someday+age, age, 10); err != nil || len(found) != 1 || found[0].Session != "s_ada" || node != h.a {
			h.Errorf("%+v of %q, %v", found, node, err)
		}
		h.client.HDel(h.Context(), key, "s_ada")
		if _, _, err := h.DeadNodeSessions(h.Context(), someday+age, age, 10); err == nil || !strings.Contains(err.Error(), "1 sessions of node "+h.a) {
			h.Errorf("error %v", err)
		}
		if found, node, err := h.DeadNodeSessions(h.Context(), someday+age, age, 10); err != nil || len(found) > 0 || node != "" {
			h.Errorf("at last %+v of %q, %v", found, node, err)
		}
	})
}

// Sessions that their node does not renew for long expire, and so does the node.
func TestSessionsExpire(t *testing.T) {
	eachSessionTest(t, func(h *sessionTest) {
		h.add(h.a, h.record("ada", someday))
		ttl, err := h.client.PTTL(h.Context(), sessionsKey(h.a)).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour {
			h.Errorf("lives %v, %v", ttl, err)
		}
		h.client.PExpire(h.Context(), sessionsKey(h.a), time.Minute)
		h.renew(h.a, someday)
		if ttl := h.client.PTTL(h.Context(), sessionsKey(h.a)).Val(); ttl <= time.Minute {
			h.Errorf("seen, and lives %v", ttl)
		}
		h.client.Del(h.Context(), sessionsKey(h.a)) // as when it expires
		h.wantNoDeadSessions(someday + age)
		if nodes := h.client.ZRange(h.Context(), sessionNodesKey, 0, -1).Val(); slices.Contains(nodes, h.a) {
			h.Errorf("the node stays among %q", nodes)
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
		"sync":  func(ctx context.Context) error { return a.Sync(ctx, "a", []eventq.SessionRecord{v}, someday) },
		"renew": func(ctx context.Context) error { return a.Sync(ctx, "a", nil, someday) },
		"orphans": func(ctx context.Context) error {
			_, _, err := a.DeadNodeSessions(ctx, someday, age, 10)
			return err
		},
	} {
		if call(t.Context()) == nil {
			t.Errorf("%s without a Redis", name)
		}
	}
}
