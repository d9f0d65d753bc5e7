// Package clients simulates the clients of one process of a swarm. These are players of
// duels and arenas, hosts, idle sessions, watchers and readers of boards, and services that
// post behaviours. Clients check everything they receive against package rules. At the end
// they check what the server has stored. Start reading at RunProcess.
package clients

import (
	"time"

	player "laststand/loadtest/client"
	"laststand/loadtest/swarm/rules"
	"laststand/loadtest/swarm/stats"
)

// Plan says what the clients of one process do. It is the first line of a process's input.
type Plan struct {
	Name    string   // prefix of the player names
	Servers []string // player URLs
	Mint    bool     // mint tokens with the key of package testenv; else ask the server for guests
	First   int      // number of the first connection; player.PerAddress connections share a loopback address
	Sources bool     // connect from many loopback addresses

	Idle, Watchers, Duellists, Readers int
	ArenaGroups                        []ArenaGroup
	Behaviours                         float64       // posted per second
	Connects                           float64       // connections started per second
	Think                              time.Duration // players answer at a random time within this
	UpdateEvery                        time.Duration // interval of the updates
	LateMatchWait                      time.Duration // how long to wait for a match that was made before the player took the ticket back
	Questions                          int           // per arena
}

// ArenaGroup plays one arena after another.
type ArenaGroup struct {
	Mode  string
	Seats int
}

// Players returns the number of clients that play.
func (o Plan) Players() (n int) {
	for _, h := range o.ArenaGroups {
		n += h.Seats
	}
	return n + o.Duellists
}

// Connections returns the number of connections of the plan. Each arena group also has a
// host.
func (o Plan) Connections() int { return o.Idle + o.Watchers + o.Players() + len(o.ArenaGroups) }

// Command is a further line of a process's input.
type Command struct {
	Duellists int  `json:"duellists,omitempty"` // the new number of duellists, if not 0; the newest leave after their match
	Collect   bool `json:"collect,omitempty"`   // collect garbage now, and then not during a measurement
	Stop      bool `json:"stop,omitempty"`      // finish and check what has started
}

// Update is a line of a process's output.
type Update struct {
	At         int64          `json:"at"` // epoch ms
	Connected  int64          `json:"connected"`
	Playing    int64          `json:"playing"` // players in matches
	Slice      stats.Slice    `json:"slice"`
	Digests    []rules.Digest `json:"seen,omitempty"`
	Violations []string       `json:"violations,omitempty"`
	Omitted    int            `json:"omitted,omitempty"` // violations beyond those listed
	Done       *Summary       `json:"done,omitempty"`    // only in the last line
}

// Summary is part of the last update of a process.
type Summary struct {
	Reconnects player.Reconnects `json:"travels"`
	Posted     int64             `json:"posted"` // behaviours that the server has answered for
	Checked    int               `json:"checked"`
	Unsure     int               `json:"unsure"` // players whose sums are unknown
}
