package checker

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// hosts is how many hosts there are. Each holds one arena after another.
const hosts = 4

const (
	fewest, most = 10, 80 // players of an arena, if there are that many
	gatherWithin = 8 * time.Second
)

// arena is an arena of one host.
type arena struct {
	code  string
	begun atomic.Bool // the match has started: no more seats

	mu     sync.Mutex
	joined map[string]bool
}

// seat is a seat that is offered to a contender.
type seat struct {
	arena *arena
	team  string
}

func (a *arena) join(player string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.joined[player] = true
}

func (a *arena) players() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.joined)
}

// event is an arena that the run will play.
type event struct {
	protocol.NewArena
	size int
}

// plan returns the event with a number: buzzer with teams and survival take turns.
func plan(number, size int) event {
	e := event{size: size, NewArena: protocol.NewArena{
		Mode: "survival", Name: fmt.Sprintf("Ordeal %d", number+1), Pace: "auto", Ranked: true,
		Questions: protocol.ArenaQuestions{Count: questions + 2, Lang: "en"},
	}}
	if number%2 == 0 {
		e.Mode = "buzzer"
		e.Teams = []protocol.ArenaTeam{{ID: "red", Name: "Red"}, {ID: "green", Name: "Green"}, {ID: "blue", Name: "Blue"}}
	}
	return e
}

// invite offers the seats of an arena to contenders that are free.
func (o *checker) invite(code string, e event) *arena {
	a := &arena{code: code, joined: make(map[string]bool)}
	for i := range e.size {
		s := &seat{arena: a}
		if len(e.Teams) > 0 {
			s.team = e.Teams[i%len(e.Teams)].ID
		}
		select {
		case o.seats <- s:
		default: // there are more seats than players
		}
	}
	return a
}
