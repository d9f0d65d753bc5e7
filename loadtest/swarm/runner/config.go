// Package runner runs a swarm: it starts nodes, their stores and the processes of
// clients. It measures all of these and merges what the clients report.
// Start reading at Run.
package runner

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"time"

	"laststand/internal/testenv"
	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/clients"
)

// Config configures a run. Numbers of players are totals over all processes.
type Config struct {
	Idle, Watchers, Duellists, Buzzer, Survival, Readers int

	Seats      int     // per arena, at most
	Questions  int     // per duel and arena
	Behaviours float64 // posted per second

	Think, Reveal time.Duration // the time to answer within; the pause after a question. Rate sets both if it is not 0
	Rate          float64       // answers/s of all players; a spike offers three times this
	Ramp          float64       // connections started per second
	For           time.Duration // duration of the load, after all have connected

	Spike         bool
	Bound         time.Duration // highest p99 of answers at a sustainable rate
	Step          time.Duration // how long to try each rate
	Soak          bool
	LateMatchWait time.Duration // how long to wait for a match made before the player took the ticket back; 0: as long as an overloaded node may need
	Slack         time.Duration // any p99 up to this is accepted, since machines are noisy
	LagMS         int           // setting max_scheduler_lag_ms of the nodes; 0: no shedding for lag; below 0: their default
	Attach        []string      // player URLs of running nodes to use instead of starting some
	Ops           []string      // operations URLs of these nodes; none: their metrics are unknown

	Nodes, Processes int // 0: as many as connections need
	Files            int // open files allowed per process
	Redis, Database  string
	Binary           string // the server binary; "": build it from this tree
	Env              []string

	Launch func(context.Context) (Process, error) // starts a process that calls clients.RunProcess
	Guard  string                                 // argument that makes this program a Guard; "": no guard
	Folder string                                 // holds all temporary folders; the guard removes it
	Log    func(line string)
}

// Process is a process of clients.
type Process interface {
	io.Writer // its input
	Output() io.Reader
	ID() int     // 0: this process itself
	End() error  // closes the input and waits for the end
	Kill() error // at once
}

// Validate returns all faults of a configuration.
func (c Config) Validate() error {
	var wrong []error
	add := func(isWrong bool, format string, args ...any) {
		if isWrong {
			wrong = append(wrong, fmt.Errorf(format, args...))
		}
	}
	for name, n := range map[string]int{
		"idle": c.Idle, "watchers": c.Watchers, "duels": c.Duellists, "buzzer": c.Buzzer, "survival": c.Survival, "readers": c.Readers,
	} {
		add(n < 0, "-%s is %d: give 0 or more", name, n)
	}
	add(c.Duellists%2 != 0, "-duels is %d: it takes two to a duel, give an even number", c.Duellists)
	add(c.Seats < 2 || c.Seats > 10000, "-seats is %d: an arena has 2 to 10000", c.Seats)
	add(c.Questions < 1 || c.Questions > 50, "-questions is %d: give 1 to 50", c.Questions)
	add(c.For <= 0 || c.For > 50*time.Minute, "-for is %v: give up to 50m, since tokens are good for an hour", c.For)
	add(!(c.Ramp >= 0.1 && c.Ramp <= maxPerSecond), "-ramp is %v: give 0.1 to %.0f connections a second", c.Ramp, maxPerSecond)
	add(!isInRange(c.Rate), "-rate is %v: give 0, or 0.01 to %.0f a second", c.Rate, maxPerSecond)
	add(!isInRange(c.Behaviours), "-behaviours is %v: give 0, or 0.01 to %.0f a second", c.Behaviours, maxPerSecond)
	add(c.Nodes < 0 || c.Nodes > 100, "-nodes is %d: give 0 to 100", c.Nodes)
	add(c.Processes < 0 || c.Processes > 100, "-processes is %d: give 0 to 100", c.Processes)
	add(c.Soak && len(c.Attach) > 0 && len(c.Ops) == 0, "-soak looks into the nodes: with -attach give their -ops")
	add(c.Spike && c.Soak, "-spike and -soak do not go together: give one")
	add(c.Spike && c.Buzzer+c.Survival > 0, "a spike is of duels: leave -buzzer and -survival out")
	add(c.Behaviours > 0 && len(c.Attach) > 0, "-behaviours needs a token of the role service, which is minted only for nodes that are started here: leave it out with -attach")
	add(c.connections() == 0 && c.Readers == 0 && c.Behaviours == 0 && !c.Spike, "there is nothing to do: give -idle, -duels, -buzzer, -survival, -watchers, -readers or -behaviours")
	for _, at := range append(append([]string{}, c.Attach...), c.Ops...) {
		add(!strings.HasPrefix(at, "http://") && !strings.HasPrefix(at, "https://"), "%q is no address: give it as http://127.0.0.1:8080", at)
	}
	return errors.Join(wrong...)
}

// maxPerSecond bounds every rate, since each process paces its share with a ticker.
const maxPerSecond = 1e6

// isInRange reports whether a rate can be paced; 0 means none.
func isInRange(perSecond float64) bool {
	return perSecond == 0 || perSecond >= 0.01 && perSecond <= maxPerSecond
}

// connections returns the number of connections of all players.
func (c Config) connections() (n int) {
	for _, o := range c.plans(1, nil) {
		n += o.Connections()
	}
	return n
}

// reservedFiles is the number of files that a process needs besides connections.
const reservedFiles = 2500

// processesFor returns how many processes of a kind the connections need.
func (c Config) processesFor(wanted, connections int) int {
	if wanted > 0 {
		return wanted
	}
	highest := max(c.Files-reservedFiles, 100)
	return max((connections+highest-1)/highest, 1)
}

// setPace sets Think and Reveal so that all players together reach Rate. A question lasts
// for the longer of two thinking times plus the pause. In a full arena it lasts for nearly
// the whole thinking time plus the pause.
func (c *Config) setPace() {
	players := c.Duellists + c.Buzzer + c.Survival
	if c.Rate == 0 || c.Spike || players == 0 {
		return
	}
	period := time.Duration(float64(players) / c.Rate * float64(time.Second))
	c.Think = min(period/2, limit*3/4)
	c.Reveal = min(max(period-c.Think, 0), time.Minute)
}

const (
	limit     = 15 * time.Second // for an answer
	countdown = time.Second
)

// settings returns the configuration of the nodes.
func (c Config) settings() string {
	times := fmt.Sprintf("time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d", limit.Milliseconds(), countdown.Milliseconds(), c.Reveal.Milliseconds())
	own := ""
	if c.LagMS >= 0 {
		own = fmt.Sprintf("max_scheduler_lag_ms: %d, ", c.LagMS)
	}
	if c.Nodes > 1 { // by default each would use a sixteenth of the machine's memory
		own += "gc_headroom_mib: 64, "
	}
	return fmt.Sprintf(`games:
  demo:
    %s
    duel: {questions: %d, %s, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {%s}
    behaviours: {max_len: 1000000, rate: {per_second: 1000, burst: 1000}, report: [], sink: {type: file, max_file_mib: 16, max_files: 1}}
limits: {%scode_attempts_per_hour_per_address: 0, reads_per_second_per_address: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, guests_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, testenv.KeysYAML, c.Questions, times, times, own)
}

// updateEvery is the interval at which client processes report.
const updateEvery = time.Second

// plans distributes the clients over the processes.
func (c Config) plans(processes int, servers []string) []clients.Plan {
	all := make([]clients.Plan, processes)
	deal := func(n, i int) int { return n/processes + min(max(n%processes-i, 0), 1) }
	for i := range all {
		all[i] = clients.Plan{
			Name: fmt.Sprintf("s%d", i), Servers: servers, Mint: len(c.Attach) == 0, Sources: isLocal(servers),
			Idle: deal(c.Idle, i), Watchers: deal(c.Watchers, i), Duellists: deal(c.Duellists, i), Readers: deal(c.Readers, i),
			Behaviours: c.Behaviours / float64(processes), Connects: c.Ramp / float64(processes),
			Think: c.Think, UpdateEvery: updateEvery, LateMatchWait: cmp.Or(c.LateMatchWait, 15*time.Second), Questions: c.Questions,
		}
	}
	for i, h := range append(arenaGroups("buzzer", c.Buzzer, c.Seats), arenaGroups("survival", c.Survival, c.Seats)...) {
		all[i%processes].ArenaGroups = append(all[i%processes].ArenaGroups, h)
	}
	first := 0
	for i := range all {
		all[i].First = first
		first += (all[i].Connections()/player.PerAddress + 1) * player.PerAddress * 4 // a spike adds some players
	}
	return all
}

// arenaGroups returns enough arena groups to seat all players.
func arenaGroups(mode string, players, seats int) (all []clients.ArenaGroup) {
	for n := players; n > 1; n -= seats {
		all = append(all, clients.ArenaGroup{Mode: mode, Seats: min(n, seats)})
	}
	return all
}

// isLocal reports whether all servers are on loopback.
func isLocal(servers []string) bool {
	for _, s := range servers {
		if !strings.HasPrefix(s, "http://127.0.0.1:") {
			return false
		}
	}
	return true
}
