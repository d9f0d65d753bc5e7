// Package crowd is the players of one process of a swarm: duellists, arenas with
// their hosts, idle sessions, watchers and readers of boards, and posters of
// behaviours. They check what they are told as they go, and in the end what the
// server keeps of it.
package crowd

import (
	"time"

	"laststand/loadtest/player"
	"laststand/loadtest/swarm/tally"
	"laststand/loadtest/swarm/truth"
)

// Order says what a crowd does. It is the first line of a process's input.
type Order struct {
	Name    string   // its players are named after it
	Servers []string // of the players
	Mint    bool     // tokens are minted with the key of package rig; else guests are made
	First   int      // number of its first connection: rig.PerSource share an address of loopback
	Sources bool     // connections come from many addresses of loopback

	Idle, Watchers, Duellists, Readers int
	Halls                              []Hall
	Behaviours                         float64       // posted a second
	Connects                           float64       // begun a second
	Think                              time.Duration // players answer at some instant within
	Every                              time.Duration // something is said
	Linger                             time.Duration // after a ticket was taken back, a match is waited for that was made before that
	Questions                          int           // of an arena
}

// Hall is where one arena is played after another.
type Hall struct {
	Mode  string
	Seats int
}

// Players are those of an order who play.
func (o Order) Players() (n int) {
	for _, h := range o.Halls {
		n += h.Seats
	}
	return n + o.Duellists
}

// Connections are those that an order comes to: each hall has a host, too.
func (o Order) Connections() int { return o.Idle + o.Watchers + o.Players() + len(o.Halls) }

// Command is a further line of a process's input.
type Command struct {
	Duellists int  `json:"duellists,omitempty"` // that there are from now on, if not 0; the newest leave after their match
	Collect   bool `json:"collect,omitempty"`   // garbage now, and then none while something is measured
	Stop      bool `json:"stop,omitempty"`      // what has begun is played to its end, and checked
}

// Said is a line of a process's output.
type Said struct {
	At        int64        `json:"at"` // epoch ms
	Connected int64        `json:"connected"`
	Playing   int64        `json:"playing"` // in matches
	Slice     tally.Slice  `json:"slice"`
	Seen      []truth.Seen `json:"seen,omitempty"`
	Untrue    []string     `json:"untrue,omitempty"`
	Untold    int          `json:"untold,omitempty"` // further ones
	Done      *Done        `json:"done,omitempty"`   // the last line
}

// Done is what there is to say in the end.
type Done struct {
	Travels player.Travels `json:"travels"`
	Posted  int64          `json:"posted"` // behaviours that were answered for
	Checked int            `json:"checked"`
	Unsure  int            `json:"unsure"` // players of whom it cannot be said what they have
}
