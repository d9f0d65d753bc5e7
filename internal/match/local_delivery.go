package match

import (
	"context"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// localDelivery keeps the copies of matches at this node up to date, delivers pushes to
// the sessions here, and sets the timers of deadlines. It tells listeners when a copy has
// changed and when a deadline has passed.
type localDelivery struct {
	*messenger
	changeListeners []func(*localMatch)
	dueListeners    []func(*localMatch)
	storeReachedAt  atomic.Int64 // cluster time of the last successful round trip to the store
}

func newLocalDelivery(messenger *messenger) *localDelivery {
	d := &localDelivery{messenger: messenger}
	d.storeReachedAt.Store(messenger.Now())
	return d
}

// onChange adds listeners for changes of the local state of matches. A listener must
// not block. Only constructors call onChange and onDue.
func (d *localDelivery) onChange(listeners ...func(*localMatch)) {
	d.changeListeners = append(d.changeListeners, listeners...)
}

// onDue adds a listener for matches whose deadline has passed. It runs on a worker of
// the timing wheel.
func (d *localDelivery) onDue(listener func(*localMatch)) {
	d.dueListeners = append(d.dueListeners, listener)
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
		d.countUnreadable(match, err)
		return nil, err
	}
	local := d.storeLocalMatch(newLocalMatch(view))
	d.armTimer(local)
	d.emitChange(local)
	return local, nil
}

// read reads the part of a match that query describes.
func (d *localDelivery) read(ctx context.Context, local *localMatch, after int64, players ...string) (View, error) {
	view, err := d.Matches.Read(ctx, local.query(after, players...))
	local.updateVersion(view.Version)
	return view, err
}

// deliverOrCatchUp pushes the effect of steps to the sessions at this node. If this node
// has missed earlier pushes, it reads them from the log first.
func (d *localDelivery) deliverOrCatchUp(ctx context.Context, local *localMatch, delivered delivery) error {
	if local.deliver(delivered) {
		return nil
	}
	d.metrics.filledGaps.Inc()
	view, err := d.read(ctx, local, local.knownState().Seq)
	if err != nil {
		return err
	}
	local.mu.Lock()
	defer local.mu.Unlock()
	local.catchUp(view)
	return nil
}

// adoptView delivers what other nodes have done to a match, stores the new state,
// and sets the timer for the next deadline.
func (d *localDelivery) adoptView(local *localMatch, view View) {
	local.mu.Lock()
	local.catchUp(view)
	local.mu.Unlock()
	d.armTimer(local)
	d.emitChange(local)
}

// emitChange tells the listeners that the local state of a match may have changed.
func (d *localDelivery) emitChange(local *localMatch) {
	for _, listener := range d.changeListeners {
		listener(local)
	}
}

func (d *localDelivery) emitDue(local *localMatch) {
	for _, listener := range d.dueListeners {
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
	if local.state.Phase.hasEnded() {
		d.Wheel.Set(&local.timer, endedTTLMS*time.Millisecond, func() { d.dropLocalMatch(local) })
		return
	}
	if local.state.DueAt == 0 {
		local.timer.Stop()
		return
	}
	dueAt := local.state.DueAt
	if local.state.Version == local.remoteStepVersion {
		dueAt += remoteStepGraceMS
	}
	wait := time.Duration(max(dueAt-d.Now(), 0)) * time.Millisecond
	d.Wheel.Set(&local.timer, wait, func() { d.emitDue(local) })
}
