package ws

import (
	"context"
	"time"

	"laststand/internal/protocol"
)

const (
	// drainLook is how often a drain looks whose match is over.
	drainLook = 100 * time.Millisecond
	// drainSettle is how long after a match its players are kept, so that they
	// hear that its result is settled: that is not said again.
	drainSettle = 2 * time.Second
)

// Drain tells all sessions that the node is leaving, closes those without a
// match at once and the others when their match is over or ctx ends, each with
// its last pushes before the close frame. Without a match is also who waits in
// the lobby of an arena, whose seat stays, and who only watches; the host of an
// arena that has begun is in its match. It returns when all have ended, some
// seconds after ctx at the latest. New ones are refused from the start.
func (s *Server) Drain(ctx context.Context) {
	s.draining.Store(true)
	told := protocol.EncodePush(protocol.TypeDraining, protocol.Draining{ReconnectAfterMS: 0})
	for _, se := range s.all() {
		se.out.push("", told)
	}
	look := time.NewTicker(drainLook)
	defer look.Stop()
	playing := make(map[*session]time.Time) // when last seen in a match
	for left := s.all(); len(left) > 0 && ctx.Err() == nil; left = s.all() {
		for _, se := range left {
			if se.inMatch() {
				playing[se] = time.Now()
			} else if time.Since(playing[se]) > drainSettle {
				se.drain()
			}
		}
		s.noMore() // of them all who waited for a turn were closed
		select {
		case <-ctx.Done():
		case <-look.C:
		}
	}
	for _, se := range s.all() {
		se.drain()
	}
	s.noMore()
	s.running.Wait()
	late := time.Now().Add(callWithin) // by then all is over that runs aside now
	for s.away.running.Load()+s.looks.running.Load() > 0 && time.Now().Before(late) {
		<-look.C
	}
}

func (se *session) drain() { se.closeAfter(protocol.CloseDraining, "draining; reconnect") }
