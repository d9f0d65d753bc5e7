package redisqueue

import (
	"testing"
	"time"

	"laststand/internal/eventq"
)

// pushFrom makes a push of a process that pushes one at a time.
func (l *queueTest) pushFrom(from, id string, items ...string) eventq.PushResult {
	l.Helper()
	pushed, err := l.Push(l.Context(), l.terms, eventq.Push{ID: id, From: from, Items: l.ownItems(items...), Now: l.now})
	if err != nil {
		l.Fatal(err)
	}
	return pushed
}

func TestTheLastPushOfAProcessMayBeRepeated(t *testing.T) {
	each(t, func(l *queueTest) {
		for range 2 {
			checkPushed(t, l.pushFrom("n1", "p1", "a", "b"), eventq.PushResult{Queued: 2, Length: 2})
		}
		for range 2 { // the usual one
			checkPushed(t, l.pushFrom("n1", "p2", "c"), eventq.PushResult{Queued: 1, Length: 3})
		}
		l.pushFrom("n1", "p1", "a", "b") // on its way for long, with nobody who waits
		checkPushed(t, l.pushFrom("n2", "p0", "d"), eventq.PushResult{Queued: 1, Length: 4})
		l.queued("a", "b", "c", "d")
		if ttl := l.client.PTTL(l.Context(), l.keys.lastPushes("n2")).Val(); ttl <= lastPushMS/2*time.Millisecond || ttl > lastPushMS*time.Millisecond { // an outage may be long
			l.Errorf("what was pushed is known for %v", ttl)
		}
	})
}
