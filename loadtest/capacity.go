package main

import (
	"context"
	"fmt"
	"math"
	"strconv"
	"strings"

	"golang.org/x/text/language"
	"golang.org/x/text/message"
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

// capacityPlan is what a game expects of its players. As a program it computes what the game costs,
// from the measured costs.
//
//	go run ./loadtest capacity                     # the table of docs/operate/capacity.md
//	go run ./loadtest capacity -players 250000 -online 0.2
type capacityPlan struct {
	Players    []uint64 `default:"1000000,10000000,100000000" help:"Numbers of players, separated by commas."`
	Online     float64  `default:"0.05" help:"Share of the players that is connected at the peak."`
	Playing    float64  `default:"0.4" help:"Share of the connected players that plays a duel."`
	Seconds    float64  `default:"12" name:"answer-seconds" help:"Seconds between two answers of a player."`
	Questions  float64  `default:"10" help:"Questions of a duel."`
	DailyShare float64  `default:"0.1" name:"daily" help:"Share of the players that plays on a day."`
	DailyDuels float64  `default:"5" name:"duels" help:"Duels of such a player on that day."`
	MatchDays  float64  `default:"90" name:"matches-days" help:"The setting retention.matches_days."`
	AnswerDays float64  `default:"30" name:"answers-days" help:"The setting retention.answers_days."`
	WindowDays float64  `default:"7" help:"Days of the longest rolling window."`
}

// Run prints the table.
func (c *capacityPlan) Run(context.Context) { fmt.Print(c.table()) }

// Validate returns an error if a flag is out of range.
func (c *capacityPlan) Validate() error {
	for _, n := range c.Players {
		if n == 0 || n >= 1<<40 {
			return fmt.Errorf("-players has %d; use whole numbers from 1, separated by commas", n)
		}
	}
	for name, share := range map[string]float64{"online": c.Online, "playing": c.Playing, "daily": c.DailyShare} {
		if !(share >= 0 && share <= 1) {
			return fmt.Errorf("-%s is %v; use a share from 0 to 1", name, share)
		}
	}
	for name, number := range map[string]float64{
		"answer-seconds": c.Seconds, "questions": c.Questions, "duels": c.DailyDuels, "matches-days": c.MatchDays, "answers-days": c.AnswerDays, "window-days": c.WindowDays,
	} {
		if !(number > 0 && number < 1e6) {
			return fmt.Errorf("-%s is %v; use a number above 0 and below 1,000,000", name, number)
		}
	}
	return nil
}

// table returns a table in Markdown with a column for each number of players.
func (c *capacityPlan) table() string {
	header, line, rows := "| players |", "| --- |", make([]string, 0, 16)
	for i, players := range c.Players {
		n := float64(players)
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
	connected := n * c.Online
	answers := connected * c.Playing / c.Seconds
	nodeCores := answers * nodeMicros / 1e6 / usableShare
	nodes := math.Max(2, math.Ceil(nodeCores/coresOfANode))
	nodeMemory := idleBytes + heapFactor*connected/nodes*((1-c.Playing)*restBytes+c.Playing*playBytes) + n*nameBytes
	duels := n * c.DailyShare * c.DailyDuels / 2
	// A player is on the boards of all time and of the day, and in the window if it played in it.
	boards := n * boardBytes * (1 + c.DailyShare + math.Min(1, c.DailyShare*c.WindowDays))
	return [][2]string{
		{"connected at the peak", grouped(connected)},
		{"answers per second at the peak", grouped(answers)},
		{"nodes of 4 cores", grouped(nodes)},
		{"memory of a node, GB", decimal(nodeMemory / 1e9)},
		{"Redis masters", grouped(math.Max(1, math.Ceil(answers*redisMicros/1e6/usableShare)))},
		{"Redis: leaderboards, GB", decimal(boards / 1e9)},
		{"Redis: running duels, GB", decimal(answers * matchBytes * (c.Questions*c.Seconds + keptSeconds) / 1e9)},
		{"PostgreSQL cores", grouped(math.Max(1, math.Ceil(answers*postgresMicros/1e6/usableShare)))},
		{"PostgreSQL: players, GB", decimal(n * playerBytes / 1e9)},
		{"PostgreSQL: duels, GB", decimal(duels * c.MatchDays * duelBytes / 1e9)},
		{"PostgreSQL: points of one year, GB", decimal(duels * 365 * entryBytes / 1e9)},
		{"PostgreSQL: answers, GB", decimal(duels * 2 * c.Questions * c.AnswerDays * answerBytes / 1e9)},
	}
}

// english writes numbers with commas.
var english = message.NewPrinter(language.English)

// grouped returns a number without digits after the point, with commas.
func grouped(n float64) string { return english.Sprintf("%.0f", math.Round(n)) }

// decimal returns a number with one digit after the point below 100.
func decimal(n float64) string {
	if n < 100 {
		return strconv.FormatFloat(n, 'f', 1, 64)
	}
	return grouped(n)
}
