// Command chaos shows that many nodes lose nothing. Players play duels and arenas
// over several nodes without pauses. At the same time the program kills, stalls and
// drains nodes. It checks everything that the players see, and everything that is
// stored at the end, against the wire contract.
//
//	go run ./loadtest/chaos                     # 3 nodes, 300 players, 60 s
//	go run ./loadtest/chaos -nodes 5 -players 800 -for 5m -kills 30 -seed 7
//	go run ./loadtest/chaos -for 10m -arenas 80 -kills 50 -stalls 40 -drains 20
//	go run ./loadtest/chaos -redis redis://127.0.0.1:7001,127.0.0.1:7002 -database postgres://…
//
// The numbers of faults and arenas are those of the whole run: a longer run needs
// more of them. A seed repeats the faults, but not the timing. On a busy machine
// questions open late; -slack allows them to be that much later than the contract
// says. The report says how late questions reached players, and which part of that
// delay this program's own faults caused.
//
// Without -redis the program starts a cluster of three masters, and without
// -database a PostgreSQL. Both must be installed. If anything was wrong, or later than
// the contract allows, the program exits with status 1 and keeps the logs of the
// nodes. Everything that it starts listens on loopback and ends with it.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"syscall"
	"time"

	"laststand/loadtest/chaos/checker"
	"laststand/loadtest/harness"
)

func main() {
	var c checker.Config
	flag.StringVar(&c.Server.Path, "server", "", "the server's binary; none: it is built from this tree")
	flag.StringVar(&c.Redis, "redis", "", "of the nodes; none: a cluster is started")
	flag.StringVar(&c.Database, "database", "", "of the nodes; none: a PostgreSQL is started")
	flag.IntVar(&c.Nodes, "nodes", 3, "servers, at least 2")
	flag.IntVar(&c.Players, "players", 300, "that play at once")
	flag.IntVar(&c.Arenas, "arenas", 8, "buzzer and survival by turns")
	flag.IntVar(&c.Kills, "kills", 5, "nodes killed")
	flag.IntVar(&c.Stalls, "stalls", 4, "nodes stalled for longer than a question")
	flag.IntVar(&c.Drains, "drains", 2, "nodes drained")
	flag.DurationVar(&c.For, "for", time.Minute, "how long new duels begin")
	flag.Uint64Var(&c.Seed, "seed", rand.Uint64N(1_000_000), "of the faults and the players") //nolint:gosec // no secret
	slack := flag.Duration("slack", 3*time.Second, "beyond the 3 s of the contract, for a machine that does all of this at once")
	flag.Parse()
	if c.Nodes < 2 || c.Players < 2 {
		fmt.Fprintln(os.Stderr, "chaos: it takes at least 2 nodes and 2 players")
		os.Exit(2)
	}
	c.Log = func(line string) { fmt.Println(line) }
	if err := run(c, *slack); err != nil {
		fmt.Fprintln(os.Stderr, "chaos:", err)
		os.Exit(1)
	}
}

var errUntrue = errors.New("the nodes did not keep the contract")

func run(c checker.Config, slack time.Duration) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if c.Dir, err = os.MkdirTemp("", "chaos-"); err != nil {
		return err
	}
	defer func() {
		if errors.Is(err, errUntrue) {
			fmt.Println("logs      " + c.Dir)
			return
		}
		_ = os.RemoveAll(c.Dir)
	}()
	fmt.Println("seed", c.Seed)
	var done func()
	if c.Server.Path, done, err = harness.Build(ctx, c.Server.Path); err != nil {
		return err
	}
	defer done()
	s := harness.Stores{Dir: c.Dir}
	defer s.Stop()
	if c.Redis == "" {
		if c.Redis, err = s.Cluster(ctx); err != nil {
			return err
		}
	}
	if c.Database == "" {
		if c.Database, err = s.Postgres(ctx); err != nil {
			return err
		}
	}
	report, err := checker.Run(ctx, c)
	if err != nil {
		return err
	}
	fmt.Print(report)
	if report.Untrue > 0 || report.Over(checker.LateMS+slack.Milliseconds()) > 0 {
		return errUntrue
	}
	return nil
}
