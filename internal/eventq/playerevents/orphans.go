package playerevents

import (
	"context"
	"maps"
	"slices"
	"sync"

	"laststand/internal/eventq"
)

const (
	// deadMS is how long a node is not seen alive before its visits are ended.
	deadMS = 7000
	// orphansAtOnce is how many visits are ended at once.
	orphansAtOnce = 400
)

// vigil is what a node knows of who lives. Its zero value knows nothing.
type vigil struct {
	mu    sync.Mutex
	since int64            // when the unbroken watch began, cluster time
	last  int64            // when it was last looked; 0: it is broken
	seen  map[string]int64 // when each node was last alive
}

// note notes who is alive; nobody breaks the watch, and so does not looking for
// a while, or a clock that goes back: then it begins anew, and whoever is not
// seen at once is no dead.
func (w *vigil) note(alive []string, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(alive) == 0 {
		w.last = 0
		return
	}
	if max(now-w.last, w.last-now) > eventq.NodeMS {
		w.since, w.seen = now, make(map[string]int64)
	}
	w.last = now
	for _, node := range alive {
		w.seen[node] = now
	}
}

// living are all nodes but the dead; none while those cannot be told.
func (w *vigil) living(now int64) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now-w.last > eventq.NodeMS || now-w.since < deadMS {
		return nil
	}
	maps.DeleteFunc(w.seen, func(_ string, at int64) bool { return now-at >= deadMS })
	return slices.Sorted(maps.Keys(w.seen))
}

// watch notes who is alive.
func (s *Service) watch(context.Context) {
	_, alive := s.Duty()
	s.vigil.note(alive, s.Now())
}

// endOrphans reports the end of visits at nodes that are lost, in the
// partitions of this node. Two nodes may do so at once: the ids are the same.
func (s *Service) endOrphans(ctx context.Context) {
	living := s.vigil.living(s.Now())
	if len(living) == 0 {
		return
	}
	partitions, _ := s.Duty()
	for _, p := range partitions {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = s.endSome(ctx, p, living); err != nil {
				s.failed("visits at lost nodes could not be looked for; they are again soon", err)
				return
			}
		}
	}
}

// seenLately says that a node of which nobody has heard has only begun: visits
// are there at once, and its first beat is heard later.
func seenLately(visits []Visit, now int64) bool {
	return slices.ContainsFunc(visits, func(one Visit) bool { return max(now-one.Offline.At, one.Offline.At-now) < deadMS })
}

// endSome says whether there may be more.
func (s *Service) endSome(ctx context.Context, partition int, living []string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, attendWithin)
	defer cancel()
	visits, node, err := s.Attendance.Orphans(ctx, partition, living, orphansAtOnce)
	if err != nil || len(visits) == 0 || seenLately(visits, s.Now()) {
		return false, err
	}
	for _, one := range visits {
		s.Offer(one.Game, one.Offline)
	}
	s.metrics.orphans.Add(float64(len(visits)))
	return true, s.Attendance.Exit(ctx, node, visits...)
}
