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

// fakeSender answers scripts when the test allows it, and records the players
// of each.
type fakeSender struct {
	batcher
	open    chan error // one signal per script
	mu      sync.Mutex
	came    [][]string // the players of each script
	callers sync.WaitGroup
}

func newFakeSender() *fakeSender {
	c := &fakeSender{open: make(chan error)}
	c.batcher = batcher{send: c.serve, pending: make(map[string][]*pendingAttempt)}
	return c
}

func (c *fakeSender) serve(ctx context.Context, all []*pendingAttempt) error {
	players := make([]string, len(all))
	for i, a := range all {
		players[i], a.out.Record = a.Record.Player, a.Record
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

func (c *fakeSender) checkCame(t *testing.T, want ...string) {
	t.Helper()
	if came := c.scripts(); !slices.Equal(came, want) {
		t.Errorf("scripts of %v, want %v", came, want)
	}
}

// Answers that arrive while a script runs share the next script. Two answers of
// one player never share a script.
func TestAnswersShareAScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := newFakeSender(), t.Context()
		c.submit(ctx, t, "m_1", "ada", nil)
		for _, player := range []string{"bob", "cyd", "bob", "dan"} {
			c.submit(ctx, t, "m_1", player, nil)
		}
		c.submit(ctx, t, "m_2", "eve", nil) // another match does not wait
		c.checkCame(t, "[ada]", "[eve]")
		c.open <- nil
		c.open <- nil
		c.checkCame(t, "[ada]", "[eve]", "[bob cyd dan]")
		c.open <- nil
		c.checkCame(t, "[ada]", "[eve]", "[bob cyd dan]", "[bob]")
		c.open <- nil
		c.callers.Wait()
		c.submit(ctx, t, "m_1", "fay", nil) // alone again
		c.open <- nil
		synctest.Wait()
		if len(c.pending) != 0 {
			t.Errorf("%d queues are left", len(c.pending))
		}
	})
}

// If a script fails, all its answers fail, and no later ones.
func TestAnswersFailTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx, broken := newFakeSender(), t.Context(), errors.New("broken")
		c.submit(ctx, t, "m_1", "ada", broken)
		c.submit(ctx, t, "m_1", "bob", broken)
		c.submit(ctx, t, "m_1", "cyd", broken)
		c.open <- broken
		synctest.Wait()
		c.submit(ctx, t, "m_1", "dan", nil)
		c.open <- broken
		synctest.Wait()
		c.open <- nil
		c.callers.Wait()
		c.checkCame(t, "[ada]", "[bob cyd]", "[dan]")
	})
}

// A cancelled answer returns at once and is not sent. A cancelled first answer
// cancels no other.
func TestACancelledAnswerWaitsForNoScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeSender()
		ctx, giveUp := context.WithCancel(t.Context())
		c.submit(ctx, t, "m_1", "ada", context.Canceled)
		c.submit(ctx, t, "m_1", "bob", context.Canceled)
		c.submit(t.Context(), t, "m_1", "cyd", nil)
		giveUp()
		c.checkCame(t, "[ada]", "[cyd]")
		c.open <- nil
		c.callers.Wait()
	})
}

// A script has at most maxBatch attempts, and it ends although Redis does not
// reply.
func TestAScriptOfAnswersIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newFakeSender()
		c.submit(t.Context(), t, "m_1", "ada", nil)
		for i := range maxBatch {
			c.submit(t.Context(), t, "m_1", fmt.Sprint(i), context.DeadlineExceeded)
		}
		c.submit(t.Context(), t, "m_1", "bob", nil)
		c.open <- nil
		if n := len(strings.Fields(c.scripts()[1])); n != maxBatch {
			t.Errorf("%d together, want %d", n, maxBatch)
		}
		time.Sleep(batchTimeout)
		if came := c.scripts(); len(came) != 3 || came[2] != "[bob]" {
			t.Errorf("scripts of %v", came)
		}
		c.open <- nil
		c.callers.Wait()
	})
}
