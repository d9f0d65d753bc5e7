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

// hall is an attendance, nodes of its own and a game of its own.
type hall struct {
	*testing.T
	*Attendance
	game string
	a, b string // nodes
	part int    // the partition
}

func eachHall(t *testing.T, f func(h *hall)) {
	t.Parallel()
	testenv.EachRedis(t, func(t *testing.T, c redis.UniversalClient) {
		id := ulid.Make().String()
		h := &hall{T: t, Attendance: NewAttendance(c), game: "game." + id, a: "a " + id, b: "b " + id}
		h.part = partitionOf(h.game)
		f(h)
	})
}

func (h *hall) visit(player string, at int64) playerevents.Visit {
	return playerevents.Visit{Game: h.game, Session: "s_" + player, Offline: eventq.Behaviour{
		ID: "off:s_" + player, Type: eventq.Offline, At: at, Player: player, Session: "s_" + player,
		Account: eventq.Guest, Device: "d", Data: json.RawMessage(`{"x":1}`),
	}}
}

func (h *hall) enter(node string, all ...playerevents.Visit) {
	h.Helper()
	if err := h.Enter(h.Context(), node, all...); err != nil {
		h.Fatal(err)
	}
}

func (h *hall) exit(node string, all ...playerevents.Visit) {
	h.Helper()
	if err := h.Exit(h.Context(), node, all...); err != nil {
		h.Fatal(err)
	}
}

// orphans gives those of this test's nodes that are not alive.
func (h *hall) orphans(limit int, alive ...string) (found []playerevents.Visit, node string) {
	h.Helper()
	for {
		nodes, err := h.client.ZRange(h.Context(), newPartition(h.part).attending(), 0, -1).Result()
		if err != nil {
			h.Fatal(err)
		}
		for _, n := range nodes {
			if n != h.a && n != h.b {
				alive = append(alive, n)
			}
		}
		found, node, err = h.Orphans(h.Context(), h.part, alive, limit)
		if err != nil {
			h.Fatal(err)
		}
		if node == "" || node == h.a || node == h.b { // else another test's node came meanwhile
			return found, node
		}
	}
}

func (h *hall) noOrphans(alive ...string) {
	h.Helper()
	if found, node := h.orphans(10, alive...); len(found) != 0 || node != "" {
		h.Errorf("orphans %v of %q", found, node)
	}
}

// A visit is its node's while that lives, and can be ended by others after.
func TestOrphans(t *testing.T) {
	eachHall(t, func(h *hall) {
		ada, bob := h.visit("ada", someday), h.visit("bob", someday+5)
		h.enter(h.a, ada)
		h.enter(h.b, bob)
		h.noOrphans(h.a, h.b)
		found, node := h.orphans(10, h.b)
		if node != h.a || len(found) != 1 || !same(found[0], ada) {
			h.Fatalf("%+v of %q, want %+v", found, node, ada)
		}
		for range 2 {
			h.exit(h.a, found...)
			h.noOrphans(h.b)
		}
		h.exit(h.b, bob)
		h.noOrphans()
		if left, err := h.client.Exists(h.Context(), newPartition(h.part).visits(h.a), newPartition(h.part).visits(h.b)).Result(); err != nil || left != 0 {
			h.Errorf("%d keys left, %v", left, err)
		}
	})
}

func same(a, b playerevents.Visit) bool {
	x, _ := json.Marshal(a)
	y, _ := json.Marshal(b)
	return string(x) == string(y)
}

// Orphans were last seen when their node said so last, and never before they
// came.
func TestLastSeen(t *testing.T) {
	eachHall(t, func(h *hall) {
		h.enter(h.a, h.visit("ada", someday))
		check := func(what string, want int64) {
			h.Helper()
			found, _ := h.orphans(10)
			if len(found) != 1 || found[0].Offline.At != want {
				h.Errorf("%s: %+v, want it seen at %d", what, found, want)
			}
		}
		if err := h.Seen(h.Context(), h.a, []string{h.game, h.game}, someday+5000); err != nil {
			h.Fatal(err)
		}
		check("seen", someday+5000)
		h.enter(h.a, h.visit("ada", someday+10))
		check("entered again, late", someday+5000)
		h.enter(h.a, h.visit("ada", someday+7000))
		check("entered later than seen", someday+7000)
		if err := h.Seen(h.Context(), h.b, []string{h.game}, someday); err != nil {
			h.Fatal(err)
		}
		h.noOrphans(h.a) // without visits a node is none
	})
}

// Many orphans come some at a time, each until it is ended.
func TestManyOrphans(t *testing.T) {
	eachHall(t, func(h *hall) {
		const players = 1500
		want := make(map[string]bool)
		var all []playerevents.Visit
		for i := range players {
			v := h.visit(fmt.Sprint("p", i), someday)
			all, want[v.Session] = append(all, v), true
		}
		h.enter(h.a, all...)
		for len(want) > 0 {
			found, node := h.orphans(400)
			if len(found) == 0 || len(found) > 400 || node != h.a {
				h.Fatalf("%d of %q, %d left", len(found), node, len(want))
			}
			for _, v := range found {
				if !want[v.Session] {
					h.Fatalf("%s again", v.Session)
				}
				delete(want, v.Session)
			}
			h.exit(node, found...)
		}
		h.noOrphans()
	})
}

// What nobody can read is forgotten and told, and holds up no other.
func TestUnreadableVisits(t *testing.T) {
	eachHall(t, func(h *hall) {
		const nobodys = partitions + 1 // so that no other test finds it
		key := newPartition(nobodys).visits(h.a)
		ada, _ := json.Marshal(h.visit("ada", someday))
		h.client.HSet(h.Context(), key, "s_ada", ada, "s_strange", "{")
		h.client.ZAdd(h.Context(), newPartition(nobodys).attending(), redis.Z{Member: h.a, Score: someday})
		if found, node, err := h.Orphans(h.Context(), nobodys, nil, 10); err != nil || len(found) != 1 || found[0].Session != "s_ada" || node != h.a {
			h.Errorf("%+v of %q, %v", found, node, err)
		}
		h.client.HDel(h.Context(), key, "s_ada")
		if _, _, err := h.Orphans(h.Context(), nobodys, nil, 10); err == nil || !strings.Contains(err.Error(), "1 visits of node "+h.a) {
			h.Errorf("error %v", err)
		}
		if found, node, err := h.Orphans(h.Context(), nobodys, nil, 10); err != nil || len(found) > 0 || node != "" {
			h.Errorf("at last %+v of %q, %v", found, node, err)
		}
	})
}

// Visits whose node said nothing for long are forgotten, and so is it.
func TestForgotten(t *testing.T) {
	eachHall(t, func(h *hall) {
		h.enter(h.a, h.visit("ada", someday))
		ttl, err := h.client.PTTL(h.Context(), newPartition(h.part).visits(h.a)).Result()
		if err != nil || ttl <= 0 || ttl > time.Hour {
			h.Errorf("lives %v, %v", ttl, err)
		}
		h.client.PExpire(h.Context(), newPartition(h.part).visits(h.a), time.Minute)
		if err := h.Seen(h.Context(), h.a, []string{h.game}, someday); err != nil {
			h.Fatal(err)
		}
		if ttl := h.client.PTTL(h.Context(), newPartition(h.part).visits(h.a)).Val(); ttl <= time.Minute {
			h.Errorf("seen, and lives %v", ttl)
		}
		h.client.Del(h.Context(), newPartition(h.part).visits(h.a)) // as when it expires
		h.noOrphans()
		if nodes := h.client.ZRange(h.Context(), newPartition(h.part).attending(), 0, -1).Val(); slices.Contains(nodes, h.a) {
			h.Errorf("the node stays among %q", nodes)
		}
	})
}

// Games of many partitions are noted and found together.
func TestVisitsOfManyGames(t *testing.T) {
	eachHall(t, func(h *hall) {
		parts := make(map[int]int)
		var all []playerevents.Visit
		for i := range 50 {
			v := h.visit(fmt.Sprint("p", i), someday)
			v.Game = fmt.Sprint(h.game, ".", i)
			all = append(all, v)
			parts[partitionOf(v.Game)]++
		}
		h.enter(h.a, all...)
		for h.part = range parts {
			if found, _ := h.orphans(100); len(found) != parts[h.part] {
				h.Errorf("%d in %d, want %d", len(found), h.part, parts[h.part])
			}
		}
		h.exit(h.a, all...)
		for h.part = range parts {
			h.noOrphans()
		}
	})
}

func TestAttendanceOutOfReach(t *testing.T) {
	t.Parallel()
	client := redis.NewClient(&redis.Options{Addr: "127.0.0.1:1", MaxRetries: -1, DialerRetries: 1})
	defer client.Close()
	a := NewAttendance(client)
	v := playerevents.Visit{Game: "demo", Session: "s"}
	for name, call := range map[string]func(context.Context) error{
		"enter": func(ctx context.Context) error { return a.Enter(ctx, "a", v) },
		"exit":  func(ctx context.Context) error { return a.Exit(ctx, "a", v) },
		"seen":  func(ctx context.Context) error { return a.Seen(ctx, "a", []string{"demo"}, someday) },
		"orphans": func(ctx context.Context) error {
			_, _, err := a.Orphans(ctx, 0, nil, 10)
			return err
		},
	} {
		if call(t.Context()) == nil {
			t.Errorf("%s without a Redis", name)
		}
	}
}
