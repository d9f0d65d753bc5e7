package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"time"

	"laststand/loadtest/harness"
)

// order is a command to a process of clients. The process answers each order with counts.
type order struct {
	Do     string        `json:"do"` // connect, drop; seat, ask, back
	Ours   bool          `json:"ours"`
	Nodes  []string      `json:"nodes"` // clients are spread over these round robin
	First  int           `json:"first"` // number of the first client
	Count  int           `json:"count"`
	Within time.Duration `json:"within"`
	Codes  []string      `json:"codes"` // codes of arenas; empty: the clients play duels
}

// counts is the result of an order.
type counts struct {
	Took    []int64        `json:"took"`    // connect latency of each client in µs, from its scheduled start to the welcome
	Back    []int64        `json:"back"`    // time at which each player rejoined its match, epoch µs
	Refused map[string]int `json:"refused"` // refused connections by close code
	Lost    int            `json:"lost"`    // connections that the client did not close, so far
	Error   string         `json:"error"`
}

// clientProcess runs the clients in several child processes.
type clientProcess struct{ members []*member }

type member struct {
	*harness.Child
	out *json.Decoder
}

func gather(ctx context.Context, o options) (*clientProcess, error) {
	c := &clientProcess{}
	for range o.processes {
		child, err := harness.StartChild(ctx, "-as", "clients")
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, &member{child, json.NewDecoder(child.Output())})
	}
	return c, nil
}

// do sends an order to all processes. Each process carries it out for its part of the
// clients.
func (c *clientProcess) do(o order) (all counts, err error) {
	all.Refused = map[string]int{}
	each := o.Count / len(c.members)
	for i, m := range c.members {
		part := o
		part.First, part.Count = o.First+i*each, each
		if err := json.NewEncoder(m).Encode(part); err != nil {
			return all, err
		}
	}
	for _, m := range c.members {
		var t counts
		if err := m.out.Decode(&t); err != nil {
			return all, fmt.Errorf("a client process ended: %w", err)
		}
		if t.Error != "" {
			return all, fmt.Errorf("%s: %s", o.Do, t.Error)
		}
		all.Took, all.Back = append(all.Took, t.Took...), append(all.Back, t.Back...)
		all.Lost += t.Lost
		for code, n := range t.Refused {
			all.Refused[code] += n
		}
	}
	if all.Lost > 0 {
		return all, fmt.Errorf("%s: %d connections were lost", o.Do, all.Lost)
	}
	return all, nil
}

func (c *clientProcess) end() {
	for _, m := range c.members {
		_ = m.End()
	}
}

// wave is the timing of clients that connect at the same time: until each was welcome, or
// back in its match.
type wave struct {
	Name    string         `json:"name"`
	Clients int            `json:"clients"`
	P50     float64        `json:"p50_ms"`
	P99     float64        `json:"p99_ms"`
	Max     float64        `json:"max_ms"`
	Seconds float64        `json:"seconds"` // from the first client to the last
	Refused map[string]int `json:"refused"`
}

func newWave(name string, micros []int64, t counts) (wave, error) {
	if len(micros) == 0 {
		return wave{}, errors.New("nobody came")
	}
	slices.Sort(micros)
	ms := func(share float64) float64 { return float64(micros[int(share*float64(len(micros)-1))]) / 1000 }
	return wave{Name: name, Clients: len(micros), P50: ms(0.5), P99: ms(0.99), Max: ms(1), Refused: t.Refused}, nil
}

func (w wave) show() {
	fmt.Printf("%-18s %12d in %.1f s, %.0f/s; p50 %.1f, p99 %.1f, max %.1f ms; refused:", w.Name, w.Clients, w.Seconds,
		float64(w.Clients)/w.Seconds, w.P50, w.P99, w.Max)
	for _, code := range slices.Sorted(maps.Keys(w.Refused)) {
		fmt.Printf(" %s %d times", code, w.Refused[code])
	}
	if len(w.Refused) == 0 {
		fmt.Print(" nobody")
	}
	fmt.Println()
}
