package settle

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"time"

	"laststand/internal/match"
	"laststand/internal/taskqueue"
)

const (
	maxTries  = 10        // then a refused result is dead
	maxParked = time.Hour // between two tries of one that cannot even be buried
	maxWaits  = 4         // doublings of the time between two tries of one that may not be buried
	// unseen is after how many sweeps in vain a parked result is another's
	// affair: settled or buried by another node.
	unseen = 30
)

// parked is a result that the ledger refused. It stays pending, so nothing is lost.
// grave is what it will be once dead, but for the payload.
type parked struct {
	grave taskqueue.Task
	waits int // refusals that were not its own fault, or in a burst
	until time.Time
}

// refused puts a result aside until a later sweep. One that is refused for its own
// fault goes among the dead letters at its maxTries-th refusal, which it reports,
// unless so many others are refused that something else has to be wrong. Each node
// counts its own. Beyond the queue's length parked ones are not kept in mind: their
// refusals count once there is room again.
func (s *Settler) refused(work context.Context, r match.Result, why error) (dead bool) {
	own, burst := s.atFault(why), s.isBurst(r, why)
	s.metrics.failed(reasonOf(own), 1)
	p, known := s.parked[keyOf(r)]
	if !known {
		p.grave = taskqueue.Task{Game: r.Game, Topic: taskqueue.Settle, Key: r.Match}
	}
	wait := s.Sweep << min(p.waits, maxWaits)
	if own && !burst {
		if wait, dead = s.condemned(work, r, &p, why); dead {
			delete(s.parked, keyOf(r))
			return true
		}
	} else {
		p.waits++
	}
	p.until = time.Now().Add(wait)
	if known || len(s.parked) < s.Queue {
		s.parked[keyOf(r)] = p
	}
	return false
}

// atFault says whether an error is the fault of the result that it is about.
func (s *Settler) atFault(err error) bool { return errors.Is(err, errIncomplete) || s.Refuses(err) }

func reasonOf(own bool) string {
	if own {
		return reasonRefused
	}
	return reasonUnexpected
}

// condemned counts a refusal of a result for its own fault. It gives the time until
// the next try, or buries it.
func (s *Settler) condemned(work context.Context, r match.Result, p *parked, why error) (wait time.Duration, dead bool) {
	_ = p.grave.Fail(s.Now(), why) // only a done task refuses
	if p.grave.Tries == 1 {
		s.Logger.Error("ledger refused a result; the result stays pending for a retry", "game", r.Game, "match", r.Match, "error", why)
	}
	if p.grave.Tries >= maxTries && s.bury(work, r, p.grave) {
		return 0, true
	}
	return min(s.Sweep<<min(max(0, p.grave.Tries-maxTries+1), 20), maxParked), false
}

// bury puts a result among the dead letters, and then takes it out of what is
// pending, so that its players are free and nobody waits for it. If it is cut
// short the next try comes here again and changes nothing that was done.
func (s *Settler) bury(work context.Context, r match.Result, grave taskqueue.Task) bool {
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
		s.Logger.Error("result became a dead letter after too many refusals; see server tasks list",
			"game", r.Game, "match", r.Match, "tries", grave.Tries, "error", grave.Errors[len(grave.Errors)-1].Error)
	}
	if err := s.Pending.Settled(ctx, []match.Result{r}); err != nil {
		return s.notBuried(r, err)
	}
	return true
}

func (s *Settler) notBuried(r match.Result, err error) bool {
	s.metrics.failed(reasonPending, 1)
	s.Logger.Warn("dead letter failed; the result stays pending for a retry", "game", r.Game, "match", r.Match, "error", err)
	return false
}

// forget drops the parked results that sweeps do not find any more.
func (s *Settler) forget() {
	maps.DeleteFunc(s.parked, func(_ matchKey, p parked) bool { return time.Since(p.until) > unseen*s.Sweep })
}
