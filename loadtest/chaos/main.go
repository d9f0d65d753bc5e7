// Package chaos shows that many nodes lose nothing. Players play duels and arenas
// over several nodes without pauses. At the same time the program kills, stalls and
// drains nodes. It checks everything that the players see, and everything that is
// stored at the end, against the wire contract.
//
//	go run ./loadtest stress chaos                     # 3 nodes, 300 players, 60 s
//	go run ./loadtest stress chaos -nodes 5 -players 800 -for 5m -kills 30 -seed 7
//	go run ./loadtest stress chaos -for 10m -arenas 80 -kills 50 -stalls 40 -drains 20
//	go run ./loadtest stress chaos -redis redis://127.0.0.1:7001,127.0.0.1:7002 -database postgres://…
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
package chaos

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"os"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/chaos/checker"
)

// Command registers the flags of the program and returns the function that runs it.
func Command(flags *flag.FlagSet) func(context.Context) error {
	var c checker.Config
	flags.StringVar(&c.Server.Path, "server", "", "the server's binary; none: it is built from this tree")
	flags.StringVar(&c.Redis, "redis", "", "of the nodes; none: a cluster is started")
	flags.StringVar(&c.Database, "database", "", "of the nodes; none: a PostgreSQL is started")
	flags.IntVar(&c.Nodes, "nodes", 3, "servers, at least 2")
	flags.IntVar(&c.Players, "players", 300, "that play at once")
	flags.IntVar(&c.Arenas, "arenas", 8, "buzzer and survival by turns")
	flags.IntVar(&c.Kills, "kills", 5, "nodes killed")
	flags.IntVar(&c.Stalls, "stalls", 4, "nodes stalled for longer than a question")
	flags.IntVar(&c.Drains, "drains", 2, "nodes drained")
	flags.DurationVar(&c.For, "for", time.Minute, "how long new duels begin")
	flags.Uint64Var(&c.Seed, "seed", rand.Uint64N(1_000_000), "of the faults and the players") //nolint:gosec // no secret
	slack := flags.Duration("slack", 3*time.Second, "beyond the 3 s of the contract, for a machine that does all of this at once")
	return func(ctx context.Context) error {
		if c.Nodes < 2 || c.Players < 2 {
			return fmt.Errorf("-nodes is %d and -players is %d; use at least 2 each", c.Nodes, c.Players)
		}
		c.Log = func(line string) { fmt.Println(line) }
		return run(ctx, c, *slack)
	}
}

var errUntrue = errors.New("the nodes did not keep the contract")

func run(ctx context.Context, c checker.Config, slack time.Duration) (err error) {
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
	if c.Server.Path, err = testenv.BuildServer(ctx, c.Server.Path); err != nil {
		return err
	}
	if c.Redis == "" {
		var masters []*testenv.Server
		if c.Redis, masters, err = testenv.StartCluster(3); err != nil {
			return err
		}
		for _, m := range masters {
			m.RaisePriority()
		}
	}
	if c.Database == "" {
		postgres, err := testenv.StartPostgres()
		if err != nil {
			return err
		}
		postgres.RaisePriority()
		c.Database = postgres.URL
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
