package playerevents

import (
	"context"
	"time"
)

const (
	// renewInterval is how often the service renews the sessions of this node and
	// looks for those of dead nodes.
	renewInterval = 2 * time.Second
	// deadAfterMS is how long a node must not be renewed before its sessions are
	// ended.
	deadAfterMS = 10_000
)

// watch knows since when this node has reached the SessionStore without a gap. After
// a gap all nodes may seem to be dead, because none could be renewed. Its zero value
// knows nothing.
type watch struct {
	since int64 // cluster time, epoch ms
	last  int64 // when the store was reached
}

// observe records that the store was reached. A pause or a clock that goes back is a
// gap.
func (w *watch) observe(now int64) {
	if w.hasGap(now) {
		w.since = now
	}
	w.last = now
}

func (w *watch) hasGap(now int64) bool { return max(now-w.last, w.last-now) > deadAfterMS/2 }

// isLong reports whether the store was reached for so long that live nodes have been
// renewed.
func (w *watch) isLong(now int64) bool { return !w.hasGap(now) && now-w.since >= deadAfterMS }

// renewSessions renews the sessions of this node, and looks for those of dead nodes in
// the partitions of this node.
func (s *Service) renewSessions(ctx context.Context) {
	err := s.renew(ctx)
	partitions, _ := s.Duty()
	for _, p := range partitions {
		for more := true; more && err == nil && ctx.Err() == nil; {
			more, err = s.endDeadNodeSessions(ctx, p)
		}
	}
	if err != nil {
		s.recordError("visits could not be renewed, or looked for at lost nodes; they are again soon", err)
		return
	}
	s.watch.observe(s.Now())
}

func (s *Service) renew(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	return s.Sessions.Renew(ctx, s.Node, s.recordedGames(), s.Now())
}

// endDeadNodeSessions reports the end of some sessions of a dead node, and whether
// there may be more. Two nodes may do so at once, because they use the same ids.
func (s *Service) endDeadNodeSessions(ctx context.Context, partition int) (more bool, err error) {
	ctx, cancel := context.WithTimeout(ctx, storeTimeout)
	defer cancel()
	records, node, err := s.Sessions.DeadNodeSessions(ctx, partition, s.Now(), deadAfterMS, batchSize)
	if err != nil || len(records) == 0 || !s.watch.isLong(s.Now()) {
		return false, err
	}
	for _, record := range records {
		s.Offer(record.Game, record.Offline)
	}
	s.metrics.deadNodeSessions.Add(float64(len(records)))
	return true, s.Sessions.Sync(ctx, node, nil, records)
}

// recordedGames returns the games with sessions here that the SessionStore knows, or
// will know.
func (s *Service) recordedGames() (games []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := make(map[string]bool)
	for open := range s.all {
		if open.isRecorded && !seen[open.game] {
			seen[open.game] = true
			games = append(games, open.game)
		}
	}
	return games
}
