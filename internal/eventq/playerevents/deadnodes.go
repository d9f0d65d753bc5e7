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
	deadAfterMS = 7000
	// orphansAtOnce is how many visits are ended at once.
	endBatchSize = 400
)

// vigil is what a node knows of who lives. Its zero value knows nothing.
type failureDetector struct {
	mu           sync.Mutex
	watchedSince int64            // when the unbroken watch began, cluster time
	lastObserved int64            // when it was last looked; 0: it is broken
	seen         map[string]int64 // when each node was last alive
}

// note notes who is alive; nobody breaks the watch, and so does not looking for
// a while, or a clock that goes back: then it begins anew, and whoever is not
// seen at once is no dead.
func (w *failureDetector) observe(alive []string, now int64) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if len(alive) == 0 {
		w.lastObserved = 0
		return
	}
	if max(now-w.lastObserved, w.lastObserved-now) > eventq.NodeTTLMS {
		w.watchedSince, w.seen = now, make(map[string]int64)
	}
	w.lastObserved = now
	for _, node := range alive {
		w.seen[node] = now
	}
}

// living are all nodes but the dead; none while those cannot be told.
func (w *failureDetector) alive(now int64) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now-w.lastObserved > eventq.NodeTTLMS || now-w.watchedSince < deadAfterMS {
		return nil
	}
	maps.DeleteFunc(w.seen, func(_ string, at int64) bool { return now-at >= deadAfterMS })
	return slices.Sorted(maps.Keys(w.seen))
}

// watch notes who is alive.
func (s *Service) observeNodes(context.Context) {
	_, alive := s.Duty()
	s.detector.observe(alive, s.Now())
}

// endOrphans reports the end of visits at nodes that are lost, in the
// partitions of this node. Two nodes may do so at once: the ids are the same.
func (s *Service) endDeadNodeSessions(ctx context.Context) {
	alive := s.detector.alive(s.Now())
	if len(alive) == 0 {
		return
	}
	partitions, _ := s.Duty()
	for _, p := range partitions {
		for more := true; more && ctx.Err() == nil; {
			var err error
			if more, err = s.endSessionBatch(ctx, p, alive); err != nil {
				s.recordError("visits at lost nodes could not be looked for; they are again soon", err)
				return
			}
		}
	}
}

// seenLately says that a node of which nobody has heard has only begun: visits
// are there at once, and its first beat is heard later.
func hasRecent(records []SessionRecord, now int64) bool {
	return slices.ContainsFunc(records, func(record SessionRecord) bool {
		return max(now-record.Offline.At, record.Offline.At-now) < deadAfterMS
	})
}

// endSome says whether there may be more.
func (s *Service) endSessionBatch(ctx context.Context, partition int, alive []string) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, node, err := s.Sessions.DeadNodeSessions(ctx, partition, alive, endBatchSize)
	if err != nil || len(records) == 0 || hasRecent(records, s.Now()) {
		return false, err
	}
	for _, record := range records {
		s.Offer(record.Game, record.Offline)
	}
	s.metrics.deadNodeSessions.Add(float64(len(records)))
	return true, s.Sessions.Remove(ctx, node, records...)
}
