package match

import (
	"context"
	"slices"
)

// replays reads the logs of matches for sessions that have missed much.
type replays struct{ *registry }

// replayFrames returns the frames after a number up to the last one delivered
// here, from the shared copy. It returns none if they are few or unavailable;
// the caller's own read then returns them.
func (r *replays) replayFrames(ctx context.Context, local *localMatch, after int64) [][]byte {
	local.mu.Lock()
	newState, abandoned := local.state.Seq, local.isAbandoned()
	local.mu.Unlock()
	if abandoned || after < 0 || newState-after <= maxDirectReadFrames {
		return nil
	}
	if part, _, ok := local.replay.framesBetween(after, newState); ok {
		return part
	}
	select {
	case local.replay.loading <- struct{}{}:
	case <-ctx.Done():
		return nil
	}
	defer func() { <-local.replay.loading }()
	part, storedCount, ok := local.replay.framesBetween(after, newState)
	if ok {
		return part
	}
	view, err := r.Matches.Read(ctx, ReadQuery{Match: local.plan.ID, AfterSeq: storedCount, SeenVersion: local.knownVersion()})
	if err != nil || view.Seq-int64(len(view.Frames)) != storedCount || view.Seq < newState {
		return nil
	}
	r.countReplayBytes(local.replay.appendFrames(storedCount, view.Frames))
	part, _, _ = local.replay.framesBetween(after, newState)
	return part
}

// prependFrames puts frames of the shared copy before those of a view that was
// read after them. If the log has expired or was set back, it changes nothing.
func (v *View) prependFrames(earlier [][]byte, after int64) {
	if len(earlier) > 0 && v.Seq-int64(len(v.Frames)) == after {
		v.Frames = slices.Concat(earlier, v.Frames)
	}
}

// bytesAfter returns the size of a view's frames after a number.
func (v *View) bytesAfter(after int64) int64 {
	skip := after - (v.Seq - int64(len(v.Frames)))
	return totalBytes(v.Frames[min(max(skip, 0), int64(len(v.Frames))):])
}
