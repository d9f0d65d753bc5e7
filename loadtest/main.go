// Command loadtest measures a server and attacks it, with clients that share only the wire
// contract with it.
//
//	go run ./loadtest                  # lists the programs
//	go run ./loadtest stress swarm -h  # the flags of a program
//
// The programs build the server from this tree and start the nodes and stores that they
// need. All load stays on loopback, and everything that a program has started ends with it.
package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/signal"
	"strconv"
	"strings"
	"syscall"

	"github.com/alecthomas/kong"

	"laststand/internal/testenv"
	"laststand/loadtest/bench"
	"laststand/loadtest/stress"
)

// programs are the programs of this command.
type programs struct {
	Bench struct {
		Answers     bench.Answers     `cmd:"" help:"Measure answers and first right answers in arenas."`
		Duels       bench.Duels       `cmd:"" help:"Measure answers in duels."`
		Arena       bench.Arena       `cmd:"" help:"Measure one arena with thousands of players, and check it."`
		Broadcast   bench.Broadcast   `cmd:"" help:"Measure how long a push takes to reach all watchers."`
		Connections bench.Connections `cmd:"" help:"Measure the memory of connections, a storm of them, and the death of a node."`
		Scale       bench.Scale       `cmd:"" help:"Measure the cost of an answer on 1, 2 and 4 nodes."`
		Restore     bench.Restore     `cmd:"" help:"Measure backup and restore of a large ledger, on both databases."`
	} `cmd:"" help:"Measure a server."`
	Stress struct {
		Swarm   stress.Swarm   `cmd:"" help:"Play with many players on many nodes, and check everything that they receive."`
		Chaos   stress.Chaos   `cmd:"" help:"Kill, stall and drain nodes while players play, and check that nothing is lost."`
		Hostile stress.Hostile `cmd:"" help:"Attack a server while honest players play."`
	} `cmd:"" help:"Check a server under load."`
	Capacity capacityPlan `cmd:"" help:"Compute what a game with many players costs."`
	K6       k6Run        `cmd:"" name:"k6" help:"Run a k6 script of loadtest/k6 against a server."`

	Floor     bench.Floor      `cmd:"" name:"bench-floor" hidden:""`       // see bench.FloorProcess
	Attackers stress.Attackers `cmd:"" name:"hostile-attackers" hidden:""` // see stress.AttackersProcess
}

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "loadtest:", err)
		os.Exit(1)
	}
}

// run runs a program until it ends or the process is interrupted. Then it ends everything
// that the program has started.
func run(arguments []string) (err error) {
	defer testenv.Recover(&err)
	if len(arguments) == 0 {
		arguments = []string{"--help"}
	}
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	defer testenv.StopShared()
	parse(new(programs), arguments).(interface{ Run(context.Context) }).Run(ctx)
	return nil
}

// parse parses arguments into programs or into one program, and returns the selected program. It
// fails by testenv.Must.
func parse(into any, arguments []string) (program any) {
	parser := testenv.Must(kong.New(into, kong.Name("loadtest"), kong.Vars{
		"seed": strconv.Itoa(rand.IntN(1_000_000)), "attacks": strings.Join(stress.AttackKinds(), ","), //nolint:gosec // no secret
	}))
	command := testenv.Must(parser.Parse(longFlags(arguments)))
	if command.Selected() == nil {
		return into
	}
	return command.Selected().Target.Addr().Interface()
}

// longFlags replaces -name, as package flag and our documents write flags, by --name, as kong does.
func longFlags(arguments []string) (all []string) {
	for _, argument := range arguments {
		if strings.HasPrefix(argument, "-") && !strings.HasPrefix(argument, "--") && len(argument) > 2 {
			argument = "-" + argument
		}
		all = append(all, argument)
	}
	return all
}
