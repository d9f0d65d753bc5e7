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
	batchers
	replies         chan error // the reply to each script; nil for success
	mu              sync.Mutex
	playersByScript [][]string // the players of each script
	callers         sync.WaitGroup
}

func newFakeSender() *fakeSender {
	sender := &fakeSender{replies: make(chan error)}
	sender.batchers = batchers{send: sender.runScript, byMatch: make(map[string]*matchBatcher)}
	return sender
}

func (s *fakeSender) runScript(ctx context.Context, attempts []*pendingAttempt) error {
	players := make([]string, len(attempts))
	for i, pending := range attempts {
		players[i], pending.outcome.Record = pending.Record.Player, pending.Record
	}
	s.mu.Lock()
	s.playersByScript = append(s.playersByScript, players)
	s.mu.Unlock()
	select {
	case err := <-s.replies:
		return err
	case <-ctx.Done():
		return ctx.Err()
	}
}

// submit commits an answer of a player and checks the error.
func (s *fakeSender) submit(ctx context.Context, t *testing.T, id, player string, want error) {
	s.callers.Go(func() {
		attempt := &match.Attempt{Match: id, Record: match.Record{Player: player}}
		outcome, err := s.commit(ctx, attempt)
		if !errors.Is(err, want) || want == nil && outcome.Record.Player != player {
			t.Errorf("%s: %+v, %v, want %v", player, outcome, err, want)
		}
	})
	synctest.Wait()
}

// startedScripts returns the players of each script so far.
func (s *fakeSender) startedScripts() []string {
	synctest.Wait()
	s.mu.Lock()
	defer s.mu.Unlock()
	var scripts []string
	for _, players := range s.playersByScript {
		scripts = append(scripts, fmt.Sprint(players))
	}
	return scripts
}

func (s *fakeSender) checkScripts(t *testing.T, want ...string) {
	t.Helper()
	if scripts := s.startedScripts(); !slices.Equal(scripts, want) {
		t.Errorf("scripts with the players %v, want %v", scripts, want)
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
		sender.replies <- nil
		sender.replies <- nil
		sender.checkScripts(t, "[ada]", "[eve]", "[bob cyd dan]")
		sender.replies <- nil
		sender.checkScripts(t, "[ada]", "[eve]", "[bob cyd dan]", "[bob]")
		sender.replies <- nil
		sender.callers.Wait()
		sender.submit(ctx, t, "m_1", "fay", nil) // no other answer waits any more
		sender.replies <- nil
		synctest.Wait()
		if len(sender.byMatch) != 0 {
			t.Errorf("%d batchers are left", len(sender.byMatch))
		}
	})
}

// If a script fails, all its answers fail. Later answers do not.
func TestFailedScriptFailsItsAnswers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		sender, ctx, errScript := newFakeSender(), t.Context(), errors.New("broken")
		sender.submit(ctx, t, "m_1", "ada", errScript)
		sender.submit(ctx, t, "m_1", "bob", errScript)
		sender.submit(ctx, t, "m_1", "cyd", errScript)
		sender.replies <- errScript
		synctest.Wait()
		sender.submit(ctx, t, "m_1", "dan", nil)
		sender.replies <- errScript
		synctest.Wait()
		sender.replies <- nil
		sender.callers.Wait()
		sender.checkScripts(t, "[ada]", "[bob cyd]", "[dan]")
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
		sender.replies <- nil
		if n := len(strings.Fields(sender.startedScripts()[1])); n != maxBatch {
			t.Errorf("%d answers in one script, want %d", n, maxBatch)
		}
		time.Sleep(batchTimeout)
		if scripts := sender.startedScripts(); len(scripts) != 3 || scripts[2] != "[bob]" {
			t.Errorf("scripts with the players %v", scripts)
		}
		sender.replies <- nil
		sender.callers.Wait()
	})
}
