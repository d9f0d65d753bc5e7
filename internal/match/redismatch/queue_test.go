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

// counter answers scripts when it is told to, and keeps what came with each.
type counter struct {
	queues
	open  chan error // one for each script
	mu    sync.Mutex
	came  [][]string // the players of each script
	tells sync.WaitGroup
}

func newCounter() *counter {
	c := &counter{open: make(chan error)}
	c.queues = queues{send: c.serve, waiting: make(map[string][]*waiting)}
	return c
}

func (c *counter) serve(ctx context.Context, all []*waiting) error {
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

// ask has a player answer and checks what becomes of it.
func (c *counter) ask(t *testing.T, ctx context.Context, id, player string, want error) { //nolint:revive // the test comes first
	c.tells.Go(func() {
		a := &match.Attempt{Match: id, Record: match.Record{Player: player}}
		out, err := c.commit(ctx, a)
		if !errors.Is(err, want) || want == nil && out.Record.Player != player {
			t.Errorf("%s: %+v, %v, want %v", player, out, err, want)
		}
	})
	synctest.Wait()
}

// scripts are the players of each script so far.
func (c *counter) scripts() []string {
	synctest.Wait()
	c.mu.Lock()
	defer c.mu.Unlock()
	var came []string
	for _, players := range c.came {
		came = append(came, fmt.Sprint(players))
	}
	return came
}

func (c *counter) checkCame(t *testing.T, want ...string) {
	t.Helper()
	if came := c.scripts(); !slices.Equal(came, want) {
		t.Errorf("scripts of %v, want %v", came, want)
	}
}

// Who comes while a script of the match is under way goes with the next, together
// with all others, but for a player who is in it already.
func TestAnswersGoTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx := newCounter(), t.Context()
		c.ask(t, ctx, "m_1", "ada", nil)
		for _, player := range []string{"bob", "cyd", "bob", "dan"} {
			c.ask(t, ctx, "m_1", player, nil)
		}
		c.ask(t, ctx, "m_2", "eve", nil) // another match waits for nothing
		c.checkCame(t, "[ada]", "[eve]")
		c.open <- nil
		c.open <- nil
		c.checkCame(t, "[ada]", "[eve]", "[bob cyd dan]")
		c.open <- nil
		c.checkCame(t, "[ada]", "[eve]", "[bob cyd dan]", "[bob]")
		c.open <- nil
		c.tells.Wait()
		c.ask(t, ctx, "m_1", "fay", nil) // alone again
		c.open <- nil
		synctest.Wait()
		if len(c.waiting) != 0 {
			t.Errorf("%d queues are left", len(c.waiting))
		}
	})
}

// Where a script fails all fail who are in it, and nobody behind it.
func TestAnswersFailTogether(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, ctx, broken := newCounter(), t.Context(), errors.New("broken")
		c.ask(t, ctx, "m_1", "ada", broken)
		c.ask(t, ctx, "m_1", "bob", broken)
		c.ask(t, ctx, "m_1", "cyd", broken)
		c.open <- broken
		synctest.Wait()
		c.ask(t, ctx, "m_1", "dan", nil)
		c.open <- broken
		synctest.Wait()
		c.open <- nil
		c.tells.Wait()
		c.checkCame(t, "[ada]", "[bob cyd]", "[dan]")
	})
}

// Who gives up is let go at once, and is not sent any more; whoever comes first
// gives up for nobody else.
func TestWhoGivesUpWaitsForNoScript(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounter()
		ctx, giveUp := context.WithCancel(t.Context())
		c.ask(t, ctx, "m_1", "ada", context.Canceled)
		c.ask(t, ctx, "m_1", "bob", context.Canceled)
		c.ask(t, t.Context(), "m_1", "cyd", nil)
		giveUp()
		c.checkCame(t, "[ada]", "[cyd]")
		c.open <- nil
		c.tells.Wait()
	})
}

// A script has so many attempts and no more, and ends though Redis is silent.
func TestAScriptOfAnswersIsBounded(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newCounter()
		c.ask(t, t.Context(), "m_1", "ada", nil)
		for i := range mostTogether {
			c.ask(t, t.Context(), "m_1", fmt.Sprint(i), context.DeadlineExceeded)
		}
		c.ask(t, t.Context(), "m_1", "bob", nil)
		c.open <- nil
		if n := len(strings.Fields(c.scripts()[1])); n != mostTogether {
			t.Errorf("%d together, want %d", n, mostTogether)
		}
		time.Sleep(togetherWithin)
		if came := c.scripts(); len(came) != 3 || came[2] != "[bob]" {
			t.Errorf("scripts of %v", came)
		}
		c.open <- nil
		c.tells.Wait()
	})
}
