package match

import (
	"context"
	"errors"
)

// Engine runs the matches that have players at this node, and overdue matches
// that no live node advances. It is safe for concurrent use.
//
// It consists of parts. Each part knows only the parts below it.
type Engine struct {
	*recovery       // finds what was missed: overdue matches, pushes, notifications
	*judge          // judges answers
	*attacher       // which session gets the pushes of which match
	*settledNotices // tells players that a result is settled
	*places         // who has which place in a match
	*advancer       // applies steps
	*localDelivery  // delivers pushes here and sets timers
	*registry       // the matches that this node holds
	*engineBase     // configuration and metrics
}

// New makes an engine. Matches are recovered only while Run runs.
func New(config Config) *Engine {
	e := &Engine{engineBase: newEngineBase(config)}
	e.registry = newRegistry(e.engineBase)
	e.localDelivery = newLocalDelivery(e.registry)
	e.advancer = newAdvancer(e.localDelivery)
	e.places = &places{e.advancer}
	e.settledNotices = &settledNotices{e.registry}
	e.judge = &judge{e.places}
	e.attacher = &attacher{e.places, &logCopies{registry: e.registry}}
	e.recovery = newRecovery(e.places, e.settledNotices)
	e.onChange = append(e.onChange,
		(&lifecycle{e.engineBase}).scheduleLifecycle,
		(&personalResults{e.engineBase}).schedulePersonal,
		(&bots{e.judge}).scheduleBots,
	)
	return e
}

// Status returns the last push number of a match, its arena if it has one, and
// whether it is still running. A match that is unknown, expired or abandoned is
// not running.
func (e *Engine) Status(ctx context.Context, match string) (r Status, err error) {
	local, err := e.loadMatch(ctx, match)
	if errors.Is(err, ErrNotFound) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	if state := local.knownState(); state.Phase.hasEnded() {
		return local.plan.status(state), nil
	}
	view, err := e.Matches.Read(ctx, ReadQuery{Match: match, AfterSeq: -1, Seen: local.knownSeen()})
	err = e.handleLoss(ctx, local, err)
	if errors.Is(err, ErrNotFound) || errors.Is(err, ErrAbandoned) {
		return Status{}, nil
	}
	if err != nil {
		return Status{}, err
	}
	return local.plan.status(view.State), nil
}

func (p *Plan) status(state State) Status {
	s := Status{Seq: state.Seq, Running: !state.Phase.hasEnded()}
	if p.Arena != nil {
		s.ArenaID = p.Arena.ID
	}
	return s
}

// Status is the progress of a match. Seq is the number of its last push. ArenaID
// is "" for a duel.
type Status struct {
	Seq     int64
	ArenaID string
	Running bool
}

// IsUnsettled reports whether a match is over and its result is not committed
// yet. It works even after the match itself has expired.
func (e *Engine) IsUnsettled(ctx context.Context, match string) (bool, error) {
	return e.Results.IsPending(ctx, match)
}
