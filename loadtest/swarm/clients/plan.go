// Package clients simulates the clients of one process of a swarm: players of duels
// and arenas, hosts, idle sessions, watchers and readers of boards, and services that
// post behaviours. Clients check everything they receive against package rules. At the
// end they check what the server has stored. Start reading at RunProcess.
package clients

import (
	"time"

	"laststand/loadtest/player"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// Plan says what a crowd does. It is the first line of a process's input.
type Plan struct {
	Name    string   // its players are named after it
	Servers []string // of the players
	Mint    bool     // tokens are minted with the key of package harness; else guests are made
	First   int      // number of its first connection: harness.PerSource share an address of loopback
	Sources bool     // connections come from many addresses of loopback

	Idle, Watchers, Duellists, Readers int
	ArenaGroups                        []ArenaGroup
	Behaviours                         float64       // posted a second
	Connects                           float64       // begun a second
	Think                              time.Duration // players answer at some instant within
	UpdateEvery                        time.Duration // something is said
	LateMatchWait                      time.Duration // after a ticket was taken back, a match is waited for that was made before that
	Questions                          int           // of an arena
}

// ArenaGroup is where one arena is played after another.
type ArenaGroup struct {
	Mode  string
	Seats int
}

// Players are those of an order who play.
func (o Plan) Players() (n int) {
	for _, h := range o.ArenaGroups {
		n += h.Seats
	}
	return n + o.Duellists
}

// Connections are those that an order comes to: each hall has a host, too.
func (o Plan) Connections() int { return o.Idle + o.Watchers + o.Players() + len(o.ArenaGroups) }

// Command is a further line of a process's input.
type Command struct {
	Duellists int  `json:"duellists,omitempty"` // that there are from now on, if not 0; the newest leave after their match
	Collect   bool `json:"collect,omitempty"`   // garbage now, and then none while something is measured
	Stop      bool `json:"stop,omitempty"`      // what has begun is played to its end, and checked
}

// Update is a line of a process's output.
type Update struct {
	At         int64          `json:"at"` // epoch ms
	Connected  int64          `json:"connected"`
	Playing    int64          `json:"playing"` // in matches
	Slice      stats.Slice    `json:"slice"`
	Digests    []rules.Digest `json:"seen,omitempty"`
	Violations []string       `json:"violations,omitempty"`
	Omitted    int            `json:"omitted,omitempty"` // further ones
	Done       *Summary       `json:"done,omitempty"`    // the last line
}

// Summary is part of the last update of a process.
type Summary struct {
	Reconnects player.Reconnects `json:"travels"`
	Posted     int64             `json:"posted"` // behaviours that were answered for
	Checked    int               `json:"checked"`
	Unsure     int               `json:"unsure"` // players of whom it cannot be said what they have
}
