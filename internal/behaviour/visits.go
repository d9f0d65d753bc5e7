package behaviour

import (
	"log/slog"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// VisitsConfig is what visits are reported by; all fields but Registry are
// needed.
type VisitsConfig struct {
	Games []Terms // whose Report names what is reported
	// Offer takes a behaviour unless one of its id was taken within SeenForMS. It
	// does not block.
	Offer      func(game string, b Behaviour)
	Attendance Attendance
	Node       string
	// Duty gives the partitions that this node is to look after, and the nodes
	// that are alive; none of them while that is not known.
	Duty     func() (partitions []int, alive []string)
	Now      func() int64 // cluster time, epoch ms
	Logger   *slog.Logger
	Registry prometheus.Registerer
}

// Visits report the server's own players: online and offline, and the matches
// that they play meanwhile.
//
// Each session of a player is a visit of its own, with an id of its own: where
// one replaces another, here or at another node, the former's offline may come
// a little after the newer's online. An online has one offline: where its node
// dies, the owner of its partition reports that some seconds later, as of when
// the node was last seen. Only a node that dies in the first moments of a visit
// may take its offline along, and one that seems dead for deadMS, and is not,
// has its visits ended all the same, and says so again at their real end.
//
// Run has to be called. Visits are safe for concurrent use.
type Visits struct {
	VisitsConfig
	metrics visitMetrics
	reports map[string]map[string]bool // by game and type
	roll    roll
	vigil   vigil

	mu    sync.Mutex
	all   map[*stay]struct{}
	here  map[person]*stay // the newest of each
	games map[string]int   // how many of their visits are listed
}

type person struct{ game, player string }

// NewVisits makes what reports visits.
func NewVisits(c VisitsConfig) *Visits {
	v := &Visits{
		VisitsConfig: c, metrics: newVisitMetrics(c.Registry), reports: make(map[string]map[string]bool), roll: newRoll(),
		all: make(map[*stay]struct{}), here: make(map[person]*stay), games: make(map[string]int),
	}
	for _, t := range c.Games {
		types := make(map[string]bool)
		for _, kind := range t.Report {
			types[kind] = true
		}
		v.reports[t.Game] = types
	}
	return v
}

// Enter begins a visit of a player, who is verified where there is a pi, and
// gives what ends it. A call of that after the first does nothing. Neither
// waits for anything.
func (v *Visits) Enter(game, player, pi string) (leave func()) {
	reports := v.reports[game]
	if len(reports) == 0 {
		return func() {}
	}
	one := &stay{game: game, player: player, pi: pi, session: newSession()}
	now := v.Now()
	if reports[Offline] {
		one.listed = v.list(change{Visit: one.entry(now)})
	}
	v.come(one)
	if reports[Online] {
		v.Offer(game, one.online(now))
	}
	return func() { v.leave(one) }
}

func (v *Visits) leave(one *stay) {
	if !v.gone(one) || !v.reports[one.game][Offline] {
		return
	}
	end := one.entry(v.Now())
	v.Offer(one.game, end.Offline)
	if one.listed {
		v.list(change{Visit: end, over: true})
	}
}

// come notes a visit.
func (v *Visits) come(one *stay) {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.all[one] = struct{}{}
	v.here[person{one.game, one.player}] = one
	if one.listed {
		v.games[one.game]++
	}
	v.metrics.here.Inc()
}

// gone says whether a visit was there until now.
func (v *Visits) gone(one *stay) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if _, there := v.all[one]; !there {
		return false
	}
	delete(v.all, one)
	if who := (person{one.game, one.player}); v.here[who] == one {
		delete(v.here, who)
	}
	if one.listed {
		v.games[one.game]--
	}
	if v.games[one.game] == 0 {
		delete(v.games, one.game)
	}
	v.metrics.here.Dec()
	return true
}

// list has Attendance follow, unless too much waits for that.
func (v *Visits) list(c change) bool {
	listed := v.roll.add(c)
	if !listed {
		v.metrics.unlisted.Inc()
	}
	return listed
}

// current is a player's visit here, the newest; nil for none.
func (v *Visits) current(game, player string) *stay {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.here[person{game, player}]
}
