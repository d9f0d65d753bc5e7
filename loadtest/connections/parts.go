package main

import (
	"context"
	"fmt"
	"time"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// idle measures the memory of idle connections on each kind of server. Then it closes
// them and measures a connection storm.
func idle(ctx context.Context, o options, r *report) error {
	kinds := []struct {
		name  string
		start func() (target, error)
	}{
		{"gorilla, default", func() (target, error) { return startPeer(ctx, "plain") }},
		{"gorilla, leanest", func() (target, error) { return startPeer(ctx, "lean") }},
		{"laststand", func() (target, error) { return startNode(ctx, o, harness.Options{Redis: true, Game: game}) }},
	}
	for _, k := range kinds {
		t, err := k.start()
		if err != nil {
			return err
		}
		err = stayAndStorm(ctx, o, r, k.name, t)
		t.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", k.name, err)
		}
	}
	return nil
}

func stayAndStorm(ctx context.Context, o options, r *report, name string, t target) error {
	c, err := gather(ctx, o)
	if err != nil {
		return err
	}
	defer c.end()
	_, ours := t.(*node)
	before, err := rest(ctx, t)
	if err != nil {
		return err
	}
	come := order{Do: "connect", Ours: ours, Nodes: []string{t.url()}, Count: o.idle, Within: o.fill}
	if _, err := c.do(come); err != nil {
		return err
	}
	after, err := rest(ctx, t)
	if err != nil {
		return err
	}
	r.grown(name, o.idle, before, after)
	if _, err := c.do(order{Do: "drop"}); err != nil {
		return err
	}
	if _, err := rest(ctx, t); err != nil { // until the server has freed their memory
		return err
	}
	come.Count, come.Within = o.storm, o.within
	began := time.Now()
	reply, err := c.do(come)
	if err != nil {
		return err
	}
	took := time.Since(began).Seconds()
	w, err := newWave(name+", storm", reply.Took, reply)
	w.Seconds = took
	r.Storms = append(r.Storms, w)
	w.show()
	return err
}

// game allows the longest time for a question.
const game = "{duel: {time_limit_ms: 300000, countdown_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {time_limit_ms: 300000, countdown_ms: 0}}"

// play measures the memory of players in arenas, who answer, and in duels, where a question
// stays open.
func play(ctx context.Context, o options, r *report) error {
	for _, name := range []string{"playing, arenas", "playing, duels"} {
		n, err := startNode(ctx, o, harness.Options{Redis: true, Game: game})
		if err != nil {
			return err
		}
		err = seatAndAsk(ctx, o, n, name == "playing, arenas", func(before, after memory) {
			r.grown(name, o.playing, before, after)
		})
		n.stop()
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return nil
}

func seatAndAsk(ctx context.Context, o options, n *node, inArenas bool, says func(before, after memory)) error {
	c, err := gather(ctx, o)
	if err != nil {
		return err
	}
	defer c.end()
	before, err := rest(ctx, n)
	if err != nil {
		return err
	}
	var all arenas
	if inArenas {
		if all, err = makeArenas(ctx, n, o.playing/arenaSize); err != nil {
			return err
		}
		defer all.close()
	}
	if err := all.play(c, order{Count: o.playing, Nodes: []string{n.URL}}); err != nil {
		return err
	}
	after, err := rest(ctx, n)
	if err != nil {
		return err
	}
	says(before, after)
	return nil
}

// arenas are the arenas that this process hosts.
type arenas []held

type held struct {
	protocol.ArenaMade
	host *player.Player
}

func makeArenas(ctx context.Context, n *node, count int) (all arenas, err error) {
	for range count {
		host, made, err := harness.MakeArena(ctx, n.URL, protocol.NewArena{
			Mode: "survival", Name: "connections", Pace: "host", Questions: protocol.ArenaQuestions{Count: 2},
		})
		if err != nil {
			all.close()
			return nil, err
		}
		all = append(all, held{made, host})
	}
	return all, nil
}

// play seats players and sends all of them a question. Without arenas it uses duels.
func (a arenas) play(c *clientProcess, o order) error {
	for _, one := range a {
		o.Codes = append(o.Codes, one.Code)
	}
	o.Do = "seat"
	if _, err := c.do(o); err != nil {
		return err
	}
	for _, one := range a {
		if err := harness.Ask(one.host, protocol.TypeArenaStart, protocol.ArenaRef{ArenaID: one.ArenaID}); err != nil {
			return err
		}
	}
	time.Sleep(time.Second) // a countdown of 0 takes some ticks
	for _, one := range a {
		if err := harness.Ask(one.host, protocol.TypeArenaNext, protocol.ArenaNext{ArenaID: one.ArenaID, After: -1}); err != nil {
			return err
		}
	}
	_, err := c.do(order{Do: "ask"})
	return err
}

func (a arenas) close() {
	for _, one := range a {
		_ = one.host.Close()
	}
}

// kill stops one of two nodes during a question. It measures the return of the node's
// players to their matches on the other node.
func kill(ctx context.Context, o options, r *report) error {
	doomed, err := startNode(ctx, o, harness.Options{Redis: true, Game: game})
	if err != nil {
		return err
	}
	defer doomed.stop()
	heir, err := startNode(ctx, o, harness.Options{RedisURL: "redis://" + doomed.Redis, Game: game})
	if err != nil {
		return err
	}
	defer heir.stop()
	c, err := gather(ctx, o)
	if err != nil {
		return err
	}
	defer c.end()
	all, err := makeArenas(ctx, heir, o.playing/arenaSize)
	if err != nil {
		return err
	}
	defer all.close()
	if err := all.play(c, order{Count: o.playing, Nodes: []string{doomed.URL, heir.URL}}); err != nil {
		return err
	}
	before, err := heir.Metrics(ctx)
	if err != nil {
		return err
	}
	began := time.Now()
	doomed.Kill()
	reply, err := c.do(order{Do: "back"})
	if err != nil {
		return err
	}
	if reply.Refused, err = heir.refusedSince(ctx, before); err != nil {
		return err
	}
	for i, at := range reply.Back {
		reply.Back[i] = at - began.UnixMicro()
	}
	w, err := newWave("a node's death", reply.Back, reply)
	w.Seconds = w.Max / 1000
	r.Returns = append(r.Returns, w)
	w.show()
	return err
}

// refusedSince returns the connections that a node has closed since then, by code.
func (n *node) refusedSince(ctx context.Context, before harness.Metrics) (map[string]int, error) {
	now, err := n.Metrics(ctx)
	refused := map[string]int{}
	for _, code := range []string{"1008", "1012", "1013", "4401", "4403", "4408", "4409", "4429", "4450", "cut"} {
		const name = "laststand_ws_closes_total"
		label := fmt.Sprintf("code=%q", code)
		if times := int(now.Sum(name, label) - before.Sum(name, label)); times > 0 {
			refused[code] = times
		}
	}
	return refused, err
}
