package redismatch

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
)

// fakeSender replies to a script when the test sends the reply, and records the
// players of each script.
type fakeSender struct {
	batcher
	open    chan error // the reply to each script; nil for success
	mu      sync.Mutex
	came    [][]string // the players of each script
	callers sync.WaitGroup
}

func newFakeSender() *fakeSender {
	c := &fakeSender{open: make(chan error)}
	c.batcher = batcher{sendAttempts: c.runScript, pending: make(map[string][]*pendingAttempt)}
	return c
}

func (c *fakeSender) runScript(ctx context.Context, all []*pendingAttempt) error {
	players := make([]string, len(all))
	for i, pending := range all {
		players[i], pending.outcome.Record = pending.Record.Player, pending.Record
	}
	c.mu.Lock()
	c.came = append(c.came, players)
	c.mu.Unlock()
	select {
	case err := <-c.open:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// submit commits an answer of a player and checks the error.
func (c *fakeSender) submit(ctx context.Context, t *testing.T, id, player string, want error) {
	c.callers.Go(func() {
		a := &match.Attempt{Match: id, Record: match.Record{Player: player}}
		out, err := c.commit(ctx, a)
		if !errors.Is(err, want) || want == nil && out.Record.Player != player {
			t.Errorf("%s: %+v, %v, want %v", player, out, err, want)
		}
	})
	synctest.Wait()
}

// scripts returns the players of each script so far.
func (c *fakeSender) scripts() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var came []string
	for _, players := range c.came {
		came = append(came, fmt.Sprint(players))
	}
	return came
}

func (c *fakeSender) checkScripts(t *testing.T, want ...string) {
	t.Helper()
	if came := c.scripts(); !slices.Equal(came, want) {
		t.Errorf("scripts with the players %v, want %v", came, want)
	}
}

// Answers that arrive while a script runs share the next script. Two answers of
// one player never share a script.
func TestWaitingAnswersShareScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender, ctx := newFakeSender(), t.Context()
		sender.submit(ctx, t, "m_1", "ada", nil)
		for _, player := range []string{"bob", "cyd", "bob", "dan"} {
			sender.submit(ctx, t, "m_1", player, nil)
		}
		sender.submit(ctx, t, "m_2", "eve", nil) // another match does not wait
		sender.checkScripts(t, "[ada]", "[eve]")
		sender.open <- nil
		sender.open <- nil
		sender.checkScripts(t, "[ada]", "[eve]", "[bob cyd dan]")
		sender.open <- nil
		sender.checkScripts(t, "[ada]", "[eve]", "[bob cyd dan]", "[bob]")
		sender.open <- nil
		sender.callers.Wait()
		sender.submit(ctx, t, "m_1", "fay", nil) // no other answer waits any more
		sender.open <- nil
		synctest.Wait()
		if len(sender.pending) != 0 {
			t.Errorf("%d queues are left", len(sender.pending))
		}
	})
}

// If a script fails, all its answers fail. Later answers do not.
func TestFailedScriptFailsItsAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender, ctx, broken := newFakeSender(), t.Context(), errors.New("broken")
		sender.submit(ctx, t, "m_1", "ada", broken)
		sender.submit(ctx, t, "m_1", "bob", broken)
		sender.submit(ctx, t, "m_1", "cyd", broken)
		sender.open <- broken
		synctest.Wait()
		sender.submit(ctx, t, "m_1", "dan", nil)
		sender.open <- broken
		synctest.Wait()
		sender.open <- nil
		sender.callers.Wait()
		sender.checkScripts(t, "[ada]", "[bob cyd]", "[dan]")
	})
}

// The commit of a cancelled answer returns immediately, and the answer is not sent. A cancelled first answer
// cancels no other answer.
func TestCancelledAnswerReturnsAtOnce(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := newFakeSender()
		ctx, giveUp := context.WithCancel(t.Context())
		sender.submit(ctx, t, "m_1", "ada", context.Canceled)
		sender.submit(ctx, t, "m_1", "bob", context.Canceled)
		sender.submit(t.Context(), t, "m_1", "cyd", nil)
		giveUp()
		sender.checkScripts(t, "[ada]", "[cyd]")
		sender.open <- nil
		sender.callers.Wait()
	})
}

// A script has at most maxBatch attempts, and it ends although Redis does not
// reply.
func TestBatchSizeAndDurationAreLimited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender := newFakeSender()
		sender.submit(t.Context(), t, "m_1", "ada", nil)
		for i := range maxBatch {
			sender.submit(t.Context(), t, "m_1", fmt.Sprint(i), context.DeadlineExceeded)
		}
		sender.submit(t.Context(), t, "m_1", "bob", nil)
		sender.open <- nil
		if n := len(strings.Fields(sender.scripts()[1])); n != maxBatch {
			t.Errorf("%d answers in one script, want %d", n, maxBatch)
		}
		time.Sleep(batchTimeout)
		if came := sender.scripts(); len(came) != 3 || came[2] != "[bob]" {
			t.Errorf("scripts with the players %v", came)
		}
		sender.open <- nil
		sender.callers.Wait()
	})
}
