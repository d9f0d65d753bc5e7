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

	"laststand/loadtest/harness"
	"laststand/loadtest/swarm/clients"
)

// Config says what a drill is made of. Numbers of players are of all processes.
type Config struct {
	Idle, Watchers, Duellists, Buzzer, Survival, Readers int

	Seats      int     // of an arena, at most
	Questions  int     // of a duel and an arena
	Behaviours float64 // posted a second

	Think, Reveal time.Duration // the time to answer within; the pause after a question. Set by Rate where this is not 0
	Rate          float64       // answers/s that all players come to, or what a spike is three times of
	Ramp          float64       // connections begun a second
	For           time.Duration // of the load, once all are connected

	Spike         bool
	Bound         time.Duration // p99 of answers up to which a rate is sustainable
	Step          time.Duration // for which each rate is tried
	Soak          bool
	LateMatchWait time.Duration // after a ticket was taken back, a match is waited for that was made before that; 0: as long as a pressed node may take
	Slack         time.Duration // up to which any p99 may be, since machines are noisy
	LagMS         int           // setting max_scheduler_lag_ms of the nodes; 0: they shed nothing for lag; below 0: theirs
	Attach        []string      // players' addresses of nodes that run, on which to play instead of starting some
	Ops           []string      // their operations; none: nothing is known of their inside

	Nodes, Processes int // 0: as many as connections need
	Files            int // that a process may open
	Redis, Database  string
	Binary           string // the server's; "": it is built from this tree
	Env              []string

	Launch func(context.Context) (Process, error) // starts a process that obeys package crowd
	Guard  string                                 // argument that has this program be a Guard; "": there is none
	Folder string                                 // that holds all temporary ones, which the guard removes
	Log    func(line string)
}

// Process is where a crowd is.
type Process interface {
	io.Writer // its input
	Output() io.Reader
	ID() int     // 0: this process itself
	End() error  // closes the input and waits for the end
	Kill() error // at once
}

// Validate says all that is wrong with a configuration.
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

// maxPerSecond is of anything, since processes begin each by a tick of its own.
const maxPerSecond = 1e6

// isInRange says whether so many a second can be paced; 0 is none.
func isInRange(perSecond float64) bool {
	return perSecond == 0 || perSecond >= 0.01 && perSecond <= maxPerSecond
}

// connections are those that all players come to.
func (c Config) connections() (n int) {
	for _, o := range c.plans(1, nil) {
		n += o.Connections()
	}
	return n
}

// reservedFiles is how many files a process needs for other than connections.
const reservedFiles = 2500

// processesFor is how many processes of a kind connections need.
func (c Config) processesFor(wanted, connections int) int {
	if wanted > 0 {
		return wanted
	}
	highest := max(c.Files-reservedFiles, 100)
	return max((connections+highest-1)/highest, 1)
}

// setPace sets how long players think and how long a question rests, so that all of
// them come to the rate: a question takes the longer of two thinking, or nearly
// the whole time in a full arena, and the rest.
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

// settings are those of the nodes.
func (c Config) settings() string {
	times := fmt.Sprintf("time_limit_ms: %d, countdown_ms: %d, reveal_ms: %d", limit.Milliseconds(), countdown.Milliseconds(), c.Reveal.Milliseconds())
	own := ""
	if c.LagMS >= 0 {
		own = fmt.Sprintf("max_scheduler_lag_ms: %d, ", c.LagMS)
	}
	if c.Nodes > 1 { // each would take a sixteenth of the machine's memory
		own += "gc_headroom_mib: 64, "
	}
	return fmt.Sprintf(`games:
  demo:
    %s
    duel: {questions: %d, %s, bot_after_ms: 0, pair_limit_per_day: 0}
    arena: {%s}
    behaviours: {max_len: 1000000, rate: {per_second: 1000, burst: 1000}, report: [], sink: {type: file, max_file_mib: 16, max_files: 1}}
limits: {%swrong_codes_per_hour_per_address: 0, reads_per_second_per_address: 0, arenas_per_hour_per_host: 0, arenas_per_hour_per_address: 0, guests_per_minute_per_address: 0,
  matches_per_day_per_player: 0, matches_per_day_per_address: 0}
`, harness.KeysYAML, c.Questions, times, times, own)
}

// updateEvery is how often crowds say what they have seen.
const updateEvery = time.Second

// plans deal everything out to processes.
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
		first += (all[i].Connections()/harness.PerSource + 1) * harness.PerSource * 4 // a spike adds some
	}
	return all
}

// arenaGroups are as many as seat all players.
func arenaGroups(mode string, players, seats int) (all []clients.ArenaGroup) {
	for n := players; n > 1; n -= seats {
		all = append(all, clients.ArenaGroup{Mode: mode, Seats: min(n, seats)})
	}
	return all
}

// isLocal says whether all servers are on loopback.
func isLocal(servers []string) bool {
	for _, s := range servers {
		if !strings.HasPrefix(s, "http://127.0.0.1:") {
			return false
		}
	}
	return true
}
