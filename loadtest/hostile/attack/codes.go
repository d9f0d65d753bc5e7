package attack

import (
	"context"
	"crypto/rand"
	"fmt"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"laststand/internal/protocol"
)

// tryRandomCodes guesses the codes of arenas, over HTTP and over websockets. A hit is a
// violation: no client may have so many tries that a hit is likely.
func (a *attacker) tryRandomCodes(ctx context.Context) {
	var wrong atomic.Int64
	ctx, cancel := context.WithDeadline(ctx, a.until)
	defer cancel()
	var workers sync.WaitGroup
	for worker := range min(a.Sockets, 16) {
		workers.Go(func() {
			for a.next(ctx) {
				if worker%2 == 0 {
					a.lookForCode(ctx, worker, &wrong)
					continue
				}
				if s, err := a.greet(ctx, worker, a.token("code_attempt_"+rand.Text()[:8])); err == nil {
					for more := true; more; more = more && a.next(ctx) {
						more = a.tryCode(ctx, s, &wrong)
					}
					_ = s.Close()
				}
			}
		})
	}
	workers.Wait()
	a.granted("wrong codes", wrong.Load(), a.Bounds.Codes, time.Hour)
}

func code() string { return fmt.Sprintf("%06d", dice(1_000_000)) }

func (a *attacker) lookForCode(ctx context.Context, worker int, wrong *atomic.Int64) {
	randomCode := code()
	switch a.ask(ctx, worker, call{method: "GET", path: "/v1/games/demo/arenas/" + randomCode}).status {
	case http.StatusOK:
		a.addViolation("the code %s was found over HTTP", randomCode)
	case http.StatusNotFound:
		wrong.Add(1)
	}
}

// tryCode tries to join with a code. It returns whether the connection is still usable.
func (a *attacker) tryCode(ctx context.Context, s *socket, wrong *atomic.Int64) bool {
	randomCode := code()
	if s.text(`{"id":9,"type":"arena.join","data":{"code":"`+randomCode+`"}}`) != nil {
		return false
	}
	f, err := s.next(callWithin)
	switch {
	case f.Type == protocol.TypeArenaJoined:
		a.addViolation("the code %s was found over a websocket", randomCode)
	case f.Type == protocol.TypeError && refusal(f).Code == protocol.CodeNotFound:
		wrong.Add(1)
	}
	return a.checkReply(ctx, f, err)
}
