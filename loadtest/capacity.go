package main

import (
	"context"
	"flag"
	"fmt"
	"math"
	"strconv"
	"strings"

	"laststand/internal/testenv"
)

// The measured costs of docs/PERFORMANCE.md, the highest of its tables.
const (
	nodeMicros     = 745.0 // processor time of a node for an answer in a duel, 4 nodes (bench scale)
	redisMicros    = 430.0
	postgresMicros = 90.0

	restBytes    = 3_748.0 // of a node for a connection at rest (bench connections)
	playBytes    = 10_963.0
	nameBytes    = 3.0     // of each node for a nickname in the filter
	matchBytes   = 1_700.0 // of Redis for an answer, for as long as Redis keeps its duel
	keptSeconds  = 300.0   // that Redis keeps a duel after its end
	playerBytes  = 465.0   // of PostgreSQL for a player (bench Growth)
	duelBytes    = 1_942.0 // of PostgreSQL for a duel, until retention.matches_days
	entryBytes   = 811.0   // of PostgreSQL for a duel, forever: its points
	boardBytes   = 400.0   // of Redis for a player on a leaderboard
	answerBytes  = 23.0    // of PostgreSQL for an answer
	idleBytes    = 100e6   // of a node without players
	heapFactor   = 2.0     // between two garbage collections
	usableShare  = 0.5     // of a core: the rest is for peaks and for a node that is down
	coresOfANode = 4
)

// capacityPlan is what a game expects of its players.
type capacityPlan struct {
	counts     string
	online     float64
	playing    float64
	seconds    float64
	questions  float64
	dailyShare float64
	dailyDuels float64
	matchDays  float64
	answerDays float64
	windowDays float64
}

// capacityFlag is a flag with a number.
type capacityFlag struct {
	value       *float64
	name, usage string
	standard    float64
	isShare     bool // from 0 to 1
}

func (c *capacityPlan) flags() []capacityFlag {
	return []capacityFlag{
		{&c.online, "online", "share of the players that is connected at the peak", 0.05, true},
		{&c.playing, "playing", "share of the connected players that plays a duel", 0.4, true},
		{&c.seconds, "answer-seconds", "seconds between two answers of a player", 12, false},
		{&c.questions, "questions", "questions of a duel", 10, false},
		{&c.dailyShare, "daily", "share of the players that plays on a day", 0.1, true},
		{&c.dailyDuels, "duels", "duels of such a player on that day", 5, false},
		{&c.matchDays, "matches-days", "retention.matches_days", 90, false},
		{&c.answerDays, "answers-days", "retention.answers_days", 30, false},
		{&c.windowDays, "window-days", "days of the longest rolling window", 7, false},
	}
}

// capacityCommand computes what a game costs from the measured costs and an expectation.
//
//	go run ./loadtest capacity                     # the table of docs/operate/capacity.md
//	go run ./loadtest capacity -players 250000 -online 0.2
func capacityCommand(flags *flag.FlagSet) func(context.Context) {
	var c capacityPlan
	c.register(flags)
	return func(context.Context) { fmt.Print(c.table()) }
}

func (c *capacityPlan) register(flags *flag.FlagSet) {
	for _, f := range c.flags() {
		flags.Float64Var(f.value, f.name, f.standard, f.usage)
	}
	flags.StringVar(&c.counts, "players", "1000000,10000000,100000000", "numbers of players, separated by commas")
}

// players returns the numbers of players. It fails if a flag is invalid.
func (c *capacityPlan) players() (players []float64) {
	for part := range strings.SplitSeq(c.counts, ",") {
		n, err := strconv.ParseUint(part, 10, 40)
		if err != nil || n == 0 {
			testenv.Fail("-players has %q; use whole numbers from 1, separated by commas", part)
		}
		players = append(players, float64(n))
	}
	for _, f := range c.flags() {
		switch n := *f.value; {
		case f.isShare && !(n >= 0 && n <= 1):
			testenv.Fail("-%s is %v; use a share from 0 to 1", f.name, n)
		case !f.isShare && !(n > 0 && n < 1e6):
			testenv.Fail("-%s is %v; use a number above 0 and below 1,000,000", f.name, n)
		}
	}
	return players
}

// table returns a table in Markdown with a column for each number of players.
func (c *capacityPlan) table() string {
	header, line, rows := "| players |", "| --- |", make([]string, 0, 16)
	for i, n := range c.players() {
		header, line = header+" "+grouped(n)+" |", line+" --- |"
		for r, figure := range c.figures(n) {
			if i == 0 {
				rows = append(rows, "| "+figure[0]+" |")
			}
			rows[r] += " " + figure[1] + " |"
		}
	}
	return header + "\n" + line + "\n" + strings.Join(rows, "\n") + "\n"
}

// figures returns the rows for n players: a name and a figure.
func (c *capacityPlan) figures(n float64) [][2]string {
	connected := n * c.online
	answers := connected * c.playing / c.seconds
	nodeCores := answers * nodeMicros / 1e6 / usableShare
	nodes := math.Max(2, math.Ceil(nodeCores/coresOfANode))
	nodeMemory := idleBytes + heapFactor*connected/nodes*((1-c.playing)*restBytes+c.playing*playBytes) + n*nameBytes
	duels := n * c.dailyShare * c.dailyDuels / 2
	// A player is on the boards of all time and of the day, and in the window if it played in it.
	boards := n * boardBytes * (1 + c.dailyShare + math.Min(1, c.dailyShare*c.windowDays))
	return [][2]string{
		{"connected at the peak", grouped(connected)},
		{"answers per second at the peak", grouped(answers)},
		{"nodes of 4 cores", grouped(nodes)},
		{"memory of a node, GB", decimal(nodeMemory / 1e9)},
		{"Redis masters", grouped(math.Max(1, math.Ceil(answers*redisMicros/1e6/usableShare)))},
		{"Redis: leaderboards, GB", decimal(boards / 1e9)},
		{"Redis: running duels, GB", decimal(answers * matchBytes * (c.questions*c.seconds + keptSeconds) / 1e9)},
		{"PostgreSQL cores", grouped(math.Max(1, math.Ceil(answers*postgresMicros/1e6/usableShare)))},
		{"PostgreSQL: players, GB", decimal(n * playerBytes / 1e9)},
		{"PostgreSQL: duels, GB", decimal(duels * c.matchDays * duelBytes / 1e9)},
		{"PostgreSQL: points of one year, GB", decimal(duels * 365 * entryBytes / 1e9)},
		{"PostgreSQL: answers, GB", decimal(duels * 2 * c.questions * c.answerDays * answerBytes / 1e9)},
	}
}

// grouped returns a number without digits after the point, with commas.
func grouped(n float64) string {
	digits := strconv.FormatFloat(math.Round(n), 'f', 0, 64)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// decimal returns a number with one digit after the point below 100.
func decimal(n float64) string {
	if n < 100 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return grouped(n)
}
