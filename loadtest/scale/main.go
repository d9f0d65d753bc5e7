// Command scale measures the cost of an answer as nodes are added. It spreads players of
// arenas, and then of duels, over 1, 2 and 4 nodes. It does this on one Redis, and then on
// a cluster of three masters. docs/PERFORMANCE.md has the current figures.
//
//	go run ./loadtest/scale                                       # about 9 minutes
//	go run ./loadtest/scale -nodes 1,4 -stores cluster -kinds duels -json scale.json
//
// For each row the program starts everything again: Redis, PostgreSQL and nodes. It
// measures their work at rest. Then the players answer at the same rate in every row,
// and then as fast as they can. The program prints answers/s, the time from the
// answer to `answered`, and how busy the machine was. For each answer it prints the
// processor time of nodes, Redis, PostgreSQL and clients, the reads, commands and
// bytes of Redis, and the messages between nodes.
//
// All processes share this machine, so more nodes do not give more answers. The
// figures show whether an answer costs more. The work at rest is part of that cost.
//
// A rate is what players reach if only their thinking takes time; the printed rate is
// lower. Arenas play survival and every answer is wrong, so that all play on; the
// players of each arena are on all nodes. Duels are paired over all nodes, rated and
// settled, and their answers include that cost.
//
// The program needs redis-server and PostgreSQL and uses loopback only.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"
	"time"

	"laststand/loadtest/harness"
)

type options struct {
	nodes                    []int
	stores, kinds            []string
	players, arenas, rate    int
	each, warm, rest         time.Duration
	server, json             string
	nodeList, storeList, all string // as given on the command line
}

func main() {
	var o options
	flag.StringVar(&o.nodeList, "nodes", "1,2,4", "how many nodes")
	flag.StringVar(&o.storeList, "stores", "redis,cluster", "what they share: one Redis, a cluster of three masters")
	flag.StringVar(&o.all, "kinds", "arenas,duels", "what is played")
	flag.IntVar(&o.players, "players", 800, "that play")
	flag.IntVar(&o.arenas, "arenas", 8, "that they are seated in")
	flag.IntVar(&o.rate, "rate", 2000, "answers/s that are offered, before as many as there may be")
	flag.DurationVar(&o.each, "each", 10*time.Second, "that a rate is measured for")
	flag.DurationVar(&o.warm, "warm", 2*time.Second, "that it is offered for before")
	flag.DurationVar(&o.rest, "rest", 10*time.Second, "that nodes are measured for when nobody plays")
	flag.StringVar(&o.server, "server", "", "measure this binary instead of this tree")
	flag.StringVar(&o.json, "json", "", "file for the figures")
	flag.Parse()
	err := o.complete()
	if err == nil {
		err = o.run()
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "scale:", err)
		os.Exit(1)
	}
}

// complete parses the lists, and returns all faults.
func (o *options) complete() error {
	var wrong []error
	for _, n := range strings.Split(o.nodeList, ",") {
		count, err := strconv.Atoi(n)
		if err != nil || count < 1 || count > 16 {
			wrong = append(wrong, fmt.Errorf("-nodes has %q: give 1 to 16, separated by commas", n))
		}
		o.nodes = append(o.nodes, count)
	}
	among := func(list string, known ...string) []string {
		all, err := harness.Choose(known, func(one string) string { return one }, list, ",")
		wrong = append(wrong, err)
		return all
	}
	o.stores = among(o.storeList, "redis", "cluster")
	o.kinds = among(o.all, "arenas", "duels")
	if o.arenas < 1 || o.players < 2*o.arenas || o.players%2 != 0 {
		wrong = append(wrong, fmt.Errorf("-players is %d for %d arenas: give an even number, two for each or more", o.players, o.arenas))
	}
	if o.rate < 1 || o.each < time.Second || o.warm < 0 || o.rest < time.Second {
		wrong = append(wrong, errors.New("-rate, -each and -rest are at least 1, 1s and 1s, -warm 0"))
	}
	return errors.Join(wrong...)
}

func (o *options) run() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	binary, done, err := harness.Build(ctx, o.server)
	if err != nil {
		return err
	}
	defer done()
	o.server = binary
	r := newReport(*o)
	fmt.Print(r.head())
	failed := o.measureAll(ctx, r)
	fmt.Print(r)
	if o.json == "" {
		return failed
	}
	raw, err := json.MarshalIndent(r, "", "\t")
	if err == nil {
		err = os.WriteFile(o.json, append(raw, '\n'), 0o600)
	}
	return errors.Join(failed, err)
}

// measureAll measures every stage until one fails.
func (o *options) measureAll(ctx context.Context, r *Report) error {
	for _, store := range o.stores {
		for _, nodes := range o.nodes {
			for _, kind := range o.kinds {
				found, err := o.measure(ctx, store, nodes, kind)
				if err != nil {
					return fmt.Errorf("%s of %d nodes on %s: %w", kind, nodes, store, err)
				}
				r.Runs = append(r.Runs, found...)
				for _, one := range found {
					fmt.Print(one.line())
				}
			}
		}
	}
	return nil
}
