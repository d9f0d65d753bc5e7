package checker

import (
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// hosts hold arenas, each one after another.
const hosts = 4

const (
	fewest, most = 10, 80 // players of an arena, as far as there are so many
	gatherWithin = 8 * time.Second
)

// arena is one that a host holds.
type arena struct {
	code  string
	begun atomic.Bool // takes no more seats

	mu     sync.Mutex
	joined map[string]bool
}

// seat is offered to a contender.
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

// plan is the arena of a number: buzzer between teams and survival by turns.
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

// invite offers the seats of an arena to whoever is free.
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
