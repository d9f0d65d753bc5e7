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
	"errors"
	"flag"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"

	"laststand/internal/testenv"
	"laststand/loadtest/bench"
	"laststand/loadtest/stress"
)

// program is one of the programs of this command.
type program struct {
	name    string                                                // the first arguments
	summary string                                                // "": another program starts it as a subprocess
	command func(flags *flag.FlagSet) (run func(context.Context)) // run fails by testenv.Must
}

var programs = []program{
	{"bench answers", "Measure answers and first right answers in arenas.", bench.Answers},
	{"bench duels", "Measure answers in duels.", bench.Duels},
	{"bench arena", "Measure one arena with thousands of players, and check it.", bench.Arena},
	{"bench broadcast", "Measure how long a push takes to reach all watchers.", bench.Broadcast},
	{"bench connections", "Measure the memory of connections, a storm of them, and the death of a node.", bench.Connections},
	{"bench scale", "Measure the cost of an answer on 1, 2 and 4 nodes.", bench.Scale},
	{"bench restore", "Measure backup and restore of a large ledger, on both databases.", bench.Restore},
	{"stress swarm", "Play with many players on many nodes, and check everything that they receive.", stress.SwarmCommand},
	{"stress chaos", "Kill, stall and drain nodes while players play, and check that nothing is lost.", stress.ChaosCommand},
	{"stress hostile", "Attack a server while honest players play.", stress.HostileCommand},
	{"capacity", "Compute what a game with many players costs.", capacityCommand},
	{"k6", "Run a k6 script of loadtest/k6 against a server.", k6Command},

	{bench.FloorProcess, "", bench.Floor},
	{stress.AttackersProcess, "", stress.Attackers},
}

func main() {
	p, arguments, ok := find(os.Args[1:])
	if !ok {
		fmt.Fprint(os.Stderr, usage())
		os.Exit(2)
	}
	if err := p.run(arguments); err != nil {
		fmt.Fprintf(os.Stderr, "loadtest: %s: %v\n", p.name, err)
		os.Exit(1)
	}
}

// find returns the program that the first arguments name, and the other arguments.
func find(arguments []string) (p program, rest []string, ok bool) {
	for _, p := range programs {
		words := strings.Fields(p.name)
		if len(arguments) >= len(words) && strings.Join(arguments[:len(words)], " ") == p.name {
			return p, arguments[len(words):], true
		}
	}
	return program{}, nil, false
}

func usage() string {
	var b strings.Builder
	b.WriteString("usage: go run ./loadtest PROGRAM [flags]; -h lists the flags of a program\n\n")
	for _, p := range programs {
		if p.summary != "" {
			fmt.Fprintf(&b, "  %-18s %s\n", p.name, p.summary)
		}
	}
	return b.String()
}

// run runs the program until it ends or the process is interrupted. Then it ends everything
// that the program has started.
func (p program) run(arguments []string) (err error) {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	flags := flag.NewFlagSet(p.name, flag.ContinueOnError)
	run := p.command(flags)
	if err := flags.Parse(arguments); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			return nil
		}
		return err
	}
	defer testenv.StopShared()
	defer testenv.Recover(&err)
	run(ctx)
	return nil
}
