package settle

import (
	"context"
	"encoding/json"
	"maps"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/match"
)

const (
	maxTries  = 10        // then a refused result is dead
	maxParked = time.Hour // between two tries of one that cannot even be buried
	// unseen is after how many sweeps in vain a parked result is another's
	// affair: settled or buried by another node.
	unseen = 30
)

// parked is a result that the ledger refused for its own fault. It stays
// pending, so nothing is lost. grave is what it will be once dead, but for the
// payload.
type parked struct {
	grave eventq.Task
	until time.Time
}

// refused puts a result aside until the next sweep, and among the dead letters
// at its maxTries-th refusal, which it reports. Each node counts its own.
// Beyond the queue's length parked ones are not kept in mind: their refusals
// count once there is room again.
func (s *Settler) refused(work context.Context, r match.Result, why error) (dead bool) {
	s.metrics.failed(reasonRefused, 1)
	p, known := s.parked[keyOf(r)]
	if !known {
		p.grave = eventq.Task{Game: r.Game, Topic: eventq.Settle, Key: r.Match}
	}
	_ = p.grave.Fail(s.Now(), why) // only a done task refuses
	if p.grave.Tries == 1 {
		s.Logger.Error("the ledger refuses a result; it stays pending and is tried again", "game", r.Game, "match", r.Match, "error", why)
	}
	if p.grave.Tries >= maxTries && s.bury(work, r, p.grave) {
		delete(s.parked, keyOf(r))
		return true
	}
	p.until = time.Now().Add(min(s.Sweep<<min(max(0, p.grave.Tries-maxTries+1), 20), maxParked))
	if known || len(s.parked) < s.Queue {
		s.parked[keyOf(r)] = p
	}
	return false
}

// bury puts a result among the dead letters, and then takes it out of what is
// pending, so that its players are free and nobody waits for it. If it is cut
// short the next try comes here again and changes nothing that was done.
func (s *Settler) bury(work context.Context, r match.Result, grave eventq.Task) bool {
	ctx, cancel := context.WithTimeout(work, callTimeout)
	defer cancel()
	var err error
	if grave.Payload, err = json.Marshal(r); err != nil {
		return s.notBuried(r, err)
	}
	added, err := s.Tasks.AddTask(ctx, grave)
	if err != nil {
		return s.notBuried(r, err)
	}
	if added {
		s.metrics.dead.Inc()
		s.Logger.Error("a result is dead: the ledger has refused it too often; see `server tasks list`",
			"game", r.Game, "match", r.Match, "tries", grave.Tries, "error", grave.Errors[len(grave.Errors)-1].Error)
	}
	if err := s.Pending.Settled(ctx, []match.Result{r}); err != nil {
		return s.notBuried(r, err)
	}
	return true
}

func (s *Settler) notBuried(r match.Result, err error) bool {
	s.metrics.failed(reasonPending, 1)
	s.Logger.Warn("a result that the ledger refuses is still pending; it is tried again", "game", r.Game, "match", r.Match, "error", err)
	return false
}

// forget drops the parked results that sweeps do not find any more.
func (s *Settler) forget() {
	maps.DeleteFunc(s.parked, func(_ matchKey, p parked) bool { return time.Since(p.until) > unseen*s.Sweep })
}
