package playerevents

import (
	"context"
	"maps"
	"slices"
	"sync"

	"laststand/internal/eventq"
)

const (
	// deadAfterMS is how long a node must be unseen before its sessions are ended.
	deadAfterMS = 7000
	// endBatchSize is how many sessions are ended together.
	endBatchSize = 400
)

// failureDetector holds what this node knows of the nodes that are alive. Its zero
// value knows nothing.
type failureDetector struct {
	mu           sync.Mutex
	watchedSince int64            // when the uninterrupted watch began, cluster time
	lastObserved int64            // time of the last observation; 0: the watch is interrupted
	seen         map[string]int64 // when each node was last alive
}

// observe records which nodes are alive. An empty list interrupts the watch, as
// does a pause of NodeTTLMS or a clock that goes back. Then the watch starts
// again, and a node that is not seen at once does not count as dead.
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

// alive returns all nodes that are not dead. It returns none while it cannot know
// which are dead.
func (w *failureDetector) alive(now int64) []string {
	w.mu.Lock()
	defer w.mu.Unlock()
	if now-w.lastObserved > eventq.NodeTTLMS || now-w.watchedSince < deadAfterMS {
		return nil
	}
	maps.DeleteFunc(w.seen, func(_ string, at int64) bool { return now-at >= deadAfterMS })
	return slices.Sorted(maps.Keys(w.seen))
}

// observeNodes records which nodes are alive.
func (s *Service) observeNodes(context.Context) {
	_, alive := s.Duty()
	s.detector.observe(alive, s.Now())
}

// endDeadNodeSessions reports the end of sessions of lost nodes, in the partitions
// of this node. Two nodes may do so at once, because they use the same ids.
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

// hasRecent reports whether a record is recent. Then its unknown node has just
// started: its sessions are stored at once, but its first heartbeat arrives later.
func hasRecent(records []SessionRecord, now int64) bool {
	return slices.ContainsFunc(records, func(record SessionRecord) bool {
		return max(now-record.Offline.At, record.Offline.At-now) < deadAfterMS
	})
}

// endSessionBatch reports whether there may be more.
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
