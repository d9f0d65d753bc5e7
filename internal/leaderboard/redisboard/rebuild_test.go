package redisboard_test

import (
	"context"
	"reflect"
	"testing"

	lb "laststand/internal/leaderboard"
	"laststand/internal/leaderboard/redisboard"
)

// watched calls its hook before and after a generation is published.
type watched struct {
	*redisboard.Store
	hook func(published bool)
}

func (s watched) Publish(ctx context.Context, state lb.State) error {
	s.hook(false)
	err := s.Store.Publish(ctx, state)
	s.hook(true)
	return err
}

func TestARebuildShowsOldOrNewAndLeavesNothing(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		w.some()
		w.ledger.turn()
		w.some()
		w.apply(t, 0)
		tidy := len(w.keys(t))
		old := w.page(t, 0, lb.Query{Window: lb.All})
		w.ledger.rollBack(13)
		w.ledger.result("p9", right(5))
		var seen []lb.Page
		applier := w.applierOn(watched{w.nodes[0].store, func(bool) {
			seen = append(seen, w.page(t, 0, lb.Query{Window: lb.All}))
		}})
		if err := applier.Apply(t.Context(), w.cfg.Game); err != nil {
			t.Fatal(err)
		}
		w.checkAll(t, 0, 2)
		if len(seen) != 2 || !reflect.DeepEqual(seen[0], old) || reflect.DeepEqual(seen[1], old) {
			t.Fatalf("readers saw %+v, first of all %+v", seen, old)
		}
		w.sweep(t, w.cfg, 0)
		if got := len(w.keys(t)); got != tidy {
			t.Fatalf("%d keys after the sweep, %d before: %v", got, tidy, w.keys(t))
		}
		w.checkAll(t, 0, 2)
	})
}

func (w *world) sweep(t failer, cfg lb.Config, before int64) {
	t.Helper()
	if err := w.nodes[0].store.Sweep(t.Context(), cfg.Game, cfg.Form(), before); err != nil {
		t.Fatalf("sweep: %v", err)
	}
}

func TestFormsStandBesideEachOtherUntilOneIsAbandoned(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		w.some()
		w.apply(t, 0)
		tidy := len(w.keys(t))
		changed := w.cfg
		changed.Weights.Accuracy++
		w.nodes = append(w.nodes, w.node(changed))
		both := []lb.Config{w.cfg, changed}
		for range 2 { // nodes of both configurations work at the same time
			for i, cfg := range both {
				w.cfg = cfg
				w.apply(t, i)
				w.checkAll(t, i, 3)
			}
			w.ledger.result("p4", right(4))
			w.sweep(t, changed, fixedNow())
			for i, cfg := range both {
				if _, err := w.nodes[i].reader.Listing(t.Context(), cfg.Game); err != nil {
					t.Fatalf("a form that was just written to was swept: %v", err)
				}
			}
		}
		w.cfg = changed
		w.apply(t, 1)
		w.sweep(t, changed, fixedNow()+1)
		if got := len(w.keys(t)); got != tidy {
			t.Fatalf("%d keys after the sweep, %d before: %v", got, tidy, w.keys(t))
		}
		w.checkAll(t, 1, 3)
	})
}

func TestAGivenUpBuildLeavesNothing(t *testing.T) {
	eachWorld(t, 1, func(t *testing.T, w *world) {
		w.some()
		w.apply(t, 0)
		tidy := len(w.keys(t))
		store := w.nodes[0].store
		served, err := store.Find(t.Context(), w.cfg.Game, w.cfg.Form())
		if err != nil || !served.Served {
			t.Fatalf("found %+v, %v", served, err)
		}
		instead := served.ID
		for _, id := range []string{"first", "second"} {
			fresh := lb.State{
				Generation: lb.Generation{Game: w.cfg.Game, Form: w.cfg.Form(), ID: id},
				Stamp:      id, Mark: lb.Watermark{Epoch: "e1"},
			}
			if err := store.Begin(t.Context(), fresh, instead); err != nil {
				t.Fatal(err)
			}
			building, err := store.Find(t.Context(), w.cfg.Game, w.cfg.Form())
			if err != nil || building.Stamp != id || building.Served {
				t.Fatalf("building %+v, %v, want %s", building, err, id)
			}
			instead = id
		}
		late := lb.State{Generation: lb.Generation{Game: w.cfg.Game, Form: w.cfg.Form(), ID: "late"}, Stamp: "late"}
		if err := store.Begin(t.Context(), late, "first"); err != nil { // somebody else was quicker
			t.Fatal(err)
		}
		if still, err := store.Find(t.Context(), w.cfg.Game, w.cfg.Form()); err != nil || still.ID != "second" {
			t.Fatalf("building %+v, %v, want the second still", still, err)
		}
		w.apply(t, 0)
		w.sweep(t, w.cfg, 0)
		if got := len(w.keys(t)); got != tidy {
			t.Fatalf("%d keys after the sweep, %d before: %v", got, tidy, w.keys(t))
		}
		w.checkAll(t, 0, 3)
	})
}
