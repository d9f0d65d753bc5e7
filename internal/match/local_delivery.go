package match

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// localDelivery keeps the copies of matches at this node up to date, delivers pushes to
// the sessions here, and sets the timers of deadlines. It emits events for the parts above.
// Only constructors set them.
type localDelivery struct {
	*registry
	onChange       []func(*localMatch) // the local state of a match may have changed; must not block
	onDue          func(*localMatch)   // the deadline of a match has passed
	onBehind       func(*localMatch)   // the match must be read, because this node has missed something
	storeReachedAt atomic.Int64        // cluster time of the last successful round trip to the store
}

func newLocalDelivery(matches *registry) *localDelivery {
	d := &localDelivery{registry: matches}
	d.storeReachedAt.Store(d.Now())
	return d
}

// loadMatch returns a match that this node holds, or loads it. Clients send any
// text as a match id. A text that is not a valid id is not found and never
// becomes part of a key.
func (d *localDelivery) loadMatch(ctx context.Context, match string) (*localMatch, error) {
	if local := d.findLocalMatch(match); local != nil {
		return local, nil
	}
	if !protocol.IsMatchID(match) {
		return nil, ErrNotFound
	}
	view, err := d.Matches.Read(ctx, ReadQuery{Match: match, WantPlan: true, AfterSeq: -1})
	if err != nil {
		var unreadable *UnreadableError
		if errors.As(err, &unreadable) {
			d.metrics.unreadable.WithLabelValues(unreadable.Reason).Inc()
		}
		return nil, err
	}
	local := d.storeLocalMatch(newLocalMatch(view))
	d.noteChange(local)
	return local, nil
}

// read reads the part of a match that query describes.
func (d *localDelivery) read(ctx context.Context, local *localMatch, after int64, players ...string) (View, error) {
	view, err := d.Matches.Read(ctx, local.query(after, players...))
	local.noteRead(view)
	view.Counts = withoutRefused(view.Counts, func(text string) bool { return d.RefusesText(local.plan.Game, text) })
	return view, err
}

// refresh reads what this node has missed of a match, with the records of players, and delivers
// it.
func (d *localDelivery) refresh(ctx context.Context, local *localMatch, players ...string) (View, error) {
	view, err := d.read(ctx, local, local.knownState().Seq, players...)
	if err == nil {
		d.adoptView(local, view)
	}
	return view, d.handleLoss(ctx, local, err)
}

// deliver pushes the effect of steps to the sessions at this node, and reports whether it did.
// If earlier pushes are missing here, it schedules a read of the log, which has all of them.
func (d *localDelivery) deliver(local *localMatch, delivered delivery) bool {
	done := local.deliver(delivered)
	if !done {
		d.scheduleCatchUp(local)
	}
	return done
}

// scheduleCatchUp schedules a read of what this node has missed of a match. In a lobby the
// read waits until the next notice to the players is possible.
func (d *localDelivery) scheduleCatchUp(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.isCatchUpScheduled {
		return
	}
	local.isCatchUpScheduled = true
	wait := int64(0)
	if local.state.Phase == PhaseLobby {
		wait = max(local.lobby.sentAt+lobbyNoticeIntervalMS-d.Now(), 1)
	}
	d.Wheel.After(time.Duration(wait)*time.Millisecond, func() {
		local.mu.Lock()
		local.isCatchUpScheduled = false
		local.mu.Unlock()
		d.onBehind(local)
	})
}

// adoptView delivers what other nodes have done to a match, stores the new state,
// and sets the timer for the next deadline. The view is that of a call of read.
func (d *localDelivery) adoptView(local *localMatch, view View) {
	local.mu.Lock()
	local.catchUp(view)
	if notice := local.lobby.next(local.plan, local.state, view, d.Now()); notice != nil {
		local.sessions.push(notice)
	}
	local.mu.Unlock()
	d.noteChange(local)
}

// noteChange sets the timer and emits an event, because the local state of a match may have
// changed.
func (d *localDelivery) noteChange(local *localMatch) {
	d.armTimer(local)
	d.emitChange(local)
}

func (d *localDelivery) emitChange(local *localMatch) {
	for _, listener := range d.onChange {
		listener(local)
	}
}

// remoteStepGraceMS is how long after the deadline a step is left to the node
// that applied the previous one. That node most likely handles it. Without this
// delay every node with players of a match would read it for nothing. A
// question that opens this late still counts as opened on time (maxLateOpeningMS).
const remoteStepGraceMS = 50

// armTimer sets the timer to the instant at which this node must take the next
// step. A match that is over is kept for endedTTLMS and then dropped.
func (d *localDelivery) armTimer(local *localMatch) {
	local.mu.Lock()
	defer local.mu.Unlock()
	if local.isDropped {
		return
	}
	if local.state.Phase.hasEnded() {
		d.Wheel.Set(&local.timer, endedTTLMS*time.Millisecond, func() { d.dropLocalMatch(local) })
		return
	}
	if local.state.DueAt == 0 {
		local.timer.Stop()
		return
	}
	dueAt := local.state.DueAt
	if local.remoteStepVersion > local.ownStepVersion {
		dueAt += remoteStepGraceMS
	}
	wait := time.Duration(max(dueAt-d.Now(), 0)) * time.Millisecond
	d.Wheel.Set(&local.timer, wait, func() { d.onDue(local) })
}

// storeOutageMS returns how long this node could not reach the store. It is 0 in normal
// operation.
func (d *localDelivery) storeOutageMS() int64 {
	outageMS := d.Now() - d.storeReachedAt.Load()
	if outageMS < recoveryInterval.Milliseconds()+minOutageMS {
		return 0
	}
	return outageMS
}
