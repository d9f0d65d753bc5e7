// Command connections measures the cost of a websocket at rest and during a match. It also
// measures a storm of new connections, and the time until all players of a dead node are
// back. Plain loops on the same library run beside it. docs/PERFORMANCE.md has the current
// figures.
//
//	go run ./loadtest/connections                   # everything, about 2 minutes
//	go run ./loadtest/connections -idle 15000 -storm 10000 -within 3s
//	go run ./loadtest/connections -sites -parts idle,play
//	go run ./loadtest/connections -parts play,kill -playing 4000 -json figures.json
//
// The parts are idle, play and kill. The part idle has a row for each kind of server,
// and then the storm.
//
// Servers and clients are separate processes; clients use their own loopback
// addresses. A process can open about 20,000 files, and this bounds -idle. Bytes are
// the growth of a process, divided by its connections. The program measures them
// after garbage collection, when the resident memory no longer changes.
//
// The program needs redis-server. It exits with an error if a connection was lost or
// a player did not come back.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"runtime"
	"strings"
	"time"

	"laststand/loadtest/harness"
)

type options struct {
	idle, storm, playing, processes int
	fill, within                    time.Duration
	parts, server, json             string
	sites                           bool
}

func main() {
	var o options
	role := flag.String("as", "", "role of a child process: clients, plain or lean (set by this program)")
	flag.IntVar(&o.idle, "idle", 15_000, "connections at rest")
	flag.IntVar(&o.storm, "storm", 10_000, "connects of a storm")
	flag.DurationVar(&o.within, "within", 3*time.Second, "that a storm's connects begin in")
	flag.DurationVar(&o.fill, "fill", 20*time.Second, "that connections to rest are made in: ours are players whom the ledger has to take in first")
	flag.IntVar(&o.playing, "playing", 2_000, "players in arenas of 100, and again in duels, and of two nodes one of which dies")
	flag.IntVar(&o.processes, "processes", 2, "that clients are spread over")
	flag.StringVar(&o.parts, "parts", "idle,play,kill", "what to measure")
	flag.BoolVar(&o.sites, "sites", false, "tell who has allocated what our connections have in the heap; which costs times and some resident memory")
	flag.StringVar(&o.server, "server", "", "start this binary instead of this tree")
	flag.StringVar(&o.json, "json", "", "a file for the figures")
	flag.Parse()
	var err error
	switch *role {
	case "clients":
		err = serveClients(os.Stdin, os.Stdout)
	case "plain", "lean":
		err = servePeer(*role)
	default:
		err = measure(o)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "connections:", err)
		os.Exit(1)
	}
}

// report contains all figures of a run.
type report struct {
	Cores   int    `json:"cores"`
	Go      string `json:"go"`
	Load    string `json:"load"` // of the machine at the start of the run, as in /proc/loadavg
	Memory  []row  `json:"memory"`
	Storms  []wave `json:"storms"`
	Returns []wave `json:"returns"`
}

// part is one of the measurements.
type part struct {
	name string
	run  func(context.Context, options, *report) error
}

func measure(o options) error {
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Minute)
	defer cancel()
	all := []part{{"idle", idle}, {"play", play}, {"kill", kill}}
	parts, err := harness.Choose(all, func(p part) string { return p.name }, o.parts, ",")
	if err != nil {
		return fmt.Errorf("-parts: %w", err)
	}
	binary, done, err := harness.Build(ctx, o.server)
	if err != nil {
		return err
	}
	defer done()
	o.server = binary
	load, _ := os.ReadFile("/proc/loadavg") // empty if the file cannot be read
	r := &report{Cores: runtime.NumCPU(), Go: runtime.Version(), Load: strings.TrimSpace(string(load))}
	fmt.Printf("machine: %d cores, %s, %s, load %s; servers and clients share it\n", r.Cores, runtime.GOARCH, r.Go, r.Load)
	fmt.Printf("%-18s %12s %10s %10s %10s %12s\n", "bytes each", "connections", "resident", "heap", "stacks", "goroutines")
	for _, part := range parts {
		if err := part.run(ctx, o, r); err != nil {
			return fmt.Errorf("%s: %w", part.name, err)
		}
	}
	return r.write(o.json)
}

func (r *report) write(file string) error {
	if file == "" {
		return nil
	}
	raw, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(file, append(raw, '\n'), 0o600)
}
