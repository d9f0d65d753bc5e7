package players

import (
	"context"
	"encoding/json"
	"errors"
	"testing"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// newRun returns a run of a player without a connection.
func newRun(t *testing.T, c Config) *matchRun {
	t.Helper()
	c.Checker, c.Stats = new(checker.Checker), NewRecorder(time.Hour)
	g := NewGroup(t.Context(), c)
	_, dice := g.newClient()
	p := &member{group: g, dice: dice, view: c.Checker.Player("ada")}
	return &matchRun{member: p, leave: t.Context(), kind: protocol.TypeDuelJoin}
}

// caught returns the error with which a function fails.
func caught(f func()) (err error) {
	defer testenv.Recover(&err)
	f()
	return nil
}

// ended returns a context that has ended.
func ended(t *testing.T) context.Context {
	t.Helper()
	ctx, end := context.WithCancel(t.Context())
	end()
	return ctx
}

// refusal returns an error reply to a request.
func refusal(kind string, data any, e protocol.Error) received {
	h := received{request: &request{kind: kind, data: data, attempts: 1}}
	h.Data, _ = json.Marshal(e)
	return h
}

// A refused client waits longer after each refusal, up to eight times the wait that the
// node asks for.
func TestARefusedClientWaitsLonger(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{})
	h := refusal(protocol.TypeDuelJoin, nil, protocol.Error{Code: protocol.CodeOverloaded, RetryAfterMS: 100_000})
	for _, seconds := range []int{100, 200, 300, 400, 500, 600, 700, 800, 800} {
		if err := caught(func() { r.handleRefusal(h) }); err != nil || r.retry != h.request {
			t.Fatalf("%v: %+v", err, r.retry)
		}
		want := time.Duration(seconds) * time.Second
		if wait := time.Until(r.retryAt).Round(10 * time.Second); wait != want {
			t.Errorf("it retries after %v, want %v", wait, want)
		}
	}
}

// A client that may have a seat in an arena keeps asking, even at the end. A seat cannot be
// given back, and the match would count without its player.
func TestAClientKeepsAskingForItsSeat(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{})
	r.kind, r.seat, r.leave = protocol.TypeArenaJoin, &seat{arena: new(arena)}, ended(t)
	h := refusal(protocol.TypeArenaJoin, nil, protocol.Error{Code: protocol.CodeUnavailable, RetryAfterMS: 100_000})
	if err := caught(func() { r.handleRefusal(h) }); err != nil || r.retry != h.request || r.isRefused || r.isDone() {
		t.Errorf("%v: retry %v, refused %t", err, r.retry, r.isRefused)
	}
}

// A client that is refused while it must leave does not retry. But it waits for the match
// that its request may have led to.
func TestAClientThatLeavesWaitsForALateMatch(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{LateMatchWait: time.Hour})
	r.leave = ended(t)
	h := refusal(protocol.TypeDuelJoin, nil, protocol.Error{Code: protocol.CodeUnavailable})
	if err := caught(func() { r.handleRefusal(h) }); err != nil || r.retry != nil || !r.isRefused || time.Until(r.retryAt) < time.Minute || time.Since(r.since) > time.Minute {
		t.Errorf("%v: retry %v, refused %t until %v", err, r.retry, r.isRefused, r.retryAt)
	}
	if r.readContext().Err() != nil {
		t.Error("it leaves at once")
	}
}

// A player that must leave takes the ticket back, even if the player knows of none. A node
// that does not know the result of its write may have stored the ticket.
func TestAPlayerThatLeavesTakesItsTicketBack(t *testing.T) {
	t.Parallel()
	for name, entered := range map[string]bool{"queued": true, "refused for now": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRun(t, Config{LateMatchWait: time.Hour})
			r.leave, r.hasEntered = ended(t), entered
			if !entered {
				r.retry, r.retryAt = &request{kind: protocol.TypeDuelJoin}, time.Now().Add(time.Hour)
			}
			r.sendDue(time.Now())
			if !r.isAwaitingReply(protocol.TypeDuelLeave) || r.retry != nil || r.readContext().Err() != nil {
				t.Error("the ticket is not taken back")
			}
			r.handleLeft()
			if !r.isRefused || time.Until(r.retryAt) < 50*time.Minute {
				t.Errorf("refused %t until %v", r.isRefused, r.retryAt)
			}
		})
	}
}

// A player of duels takes a seat in an arena that has not started.
func TestAPlayerTakesAnOpenSeat(t *testing.T) {
	t.Parallel()
	g := NewGroup(t.Context(), Config{})
	started, open := &seat{arena: new(arena)}, &seat{arena: new(arena)}
	started.arena.isStarted.Store(true)
	g.offers <- started
	g.offers <- open
	if s := nextSeat(g.offers); s != open || nextSeat(g.offers) != nil {
		t.Error("it takes the seat of an arena that has started")
	}
}

// A host starts its arena when all seats are taken or declined, and not without players.
func TestAHostWaitsForItsPlayers(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		taken, declined             int64
		waits, isStarted, isRefused bool
	}{
		{1, 1, false, false, false}, {2, 1, false, true, false}, {0, 3, false, false, true}, {1, 0, true, false, false}, {2, 0, true, true, false},
	} {
		r := newRun(t, Config{})
		r.hosts, r.since = &arena{size: 3}, time.Now()
		r.hosts.taken.Store(test.taken)
		r.hosts.declined.Store(test.declined)
		if test.waits {
			r.since = time.Now().Add(-2 * gatherTimeout)
		}
		r.sendDue(time.Now())
		if r.hosts.isStarted.Load() != test.isStarted || r.isRefused != test.isRefused || r.isAwaitingReply(protocol.TypeArenaStart) != test.isStarted {
			t.Errorf("%+v: started %t, refused %t", test, r.hosts.isStarted.Load(), r.isRefused)
		}
	}
}

// The result of a player counts from the deadline of its question, or from the first right
// answer to it, also after the next question has opened.
func TestOwnResultsCountFromTheClose(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{})
	seq, opensAt := int64(0), time.Now().UnixMilli()-10_000
	push := func(kind string, data any) {
		seq++
		raw := protocol.EncodeNumberedPush("m_1", kind, data).Frame(seq)
		f := checker.Frame{Raw: raw, ReceivedAt: time.Now()}
		if err := json.Unmarshal(raw, &f); err != nil {
			t.Fatal(err)
		}
		if err := r.view.Push(f, 0); err != nil {
			t.Fatal(err)
		}
	}
	push(protocol.TypeMatchFound, protocol.MatchFound{Mode: "buzzer", Questions: 3, Players: 60})
	for i, closed := range []protocol.QuestionClosed{{Reason: "timeout"}, {Reason: "first_correct", First: &protocol.First{Player: "bob", ElapsedMS: 2000}}, {Reason: "all_answered"}} {
		closed.Question = i
		push(protocol.TypeQuestion, protocol.Question{Question: i, Of: 3, OpensAt: opensAt, ClosesAt: opensAt + 5000})
		push(protocol.TypeQuestionClosed, closed)
	}
	for question, wantMS := range []float64{5000, 8000} {
		h := received{}
		h.ReceivedAt = time.UnixMilli(opensAt + 10_000)
		h.Data, _ = json.Marshal(protocol.Own{Match: "m_1", Question: question})
		r.recordOwn(h)
		if q := r.group.Stats.Take().Quantiles(Own); q.N != 1 || q.Max < wantMS*0.98 || q.Max > wantMS*1.02 {
			t.Errorf("question %d: %+v, want %v ms", question, q, wantMS)
		}
	}
	h := received{}
	h.Data, _ = json.Marshal(protocol.Own{Match: "m_1", Question: 2})
	if r.recordOwn(h); r.group.Stats.Take().Quantiles(Own).N != 0 {
		t.Error("a result counts whose question has no told close")
	}
}

// A strict player reports every refusal, except that the last match is still settling.
func TestAStrictPlayerReportsRefusals(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		kind     string
		code     protocol.Code
		isBreach bool
	}{
		{protocol.TypeDuelJoin, protocol.CodeUnavailable, false}, {protocol.TypeDuelJoin, protocol.CodeRateLimited, true},
		{protocol.TypeDuelJoin, protocol.CodeAlreadyPlaying, true}, {protocol.TypeArenaJoin, protocol.CodeUnavailable, true},
	} {
		r := newRun(t, Config{Strict: true})
		h := refusal(test.kind, nil, protocol.Error{Code: test.code})
		if err := caught(func() { r.handleRefusal(h) }); errors.Is(err, checker.ErrContract) != test.isBreach {
			t.Errorf("%s of %s: %v", test.code, test.kind, err)
		}
	}
	r := newRun(t, Config{Strict: true})
	r.hasLost = true
	if err := caught(r.checkConnection); !errors.Is(err, checker.ErrContract) {
		t.Errorf("a lost connection: %v", err)
	}
}

// The server may count a player as playing for a while after a match, and no longer.
func TestThePlayerIsFreeSoonAfterAMatch(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{})
	h := refusal(protocol.TypeDuelJoin, nil, protocol.Error{Code: protocol.CodeAlreadyPlaying})
	if err := caught(func() { r.handleRefusal(h) }); err != nil || r.retry == nil {
		t.Errorf("%v", err)
	}
	r.playingSince = time.Now().Add(-2 * freeTimeout)
	if err := caught(func() { r.handleRefusal(h) }); !errors.Is(err, checker.ErrContract) {
		t.Errorf("%v", err)
	}
}

// A match that does not continue is a violation, and so is an arena that does not start.
func TestSilenceIsReported(t *testing.T) {
	t.Parallel()
	r := newRun(t, Config{SilenceTimeout: time.Minute})
	r.kind, r.since = protocol.TypeArenaJoin, time.Now().Add(-time.Minute)
	if err := caught(r.checkSilence); err != nil {
		t.Error(err)
	}
	r.since = time.Now().Add(-2 * startTimeout)
	if err := caught(r.checkSilence); !errors.Is(err, checker.ErrContract) {
		t.Errorf("an arena that does not start: %v", err)
	}
	r = asked(t, "duel", Config{SilenceTimeout: time.Minute})
	r.since = time.Now().Add(-2 * time.Minute)
	if err := caught(r.checkSilence); !errors.Is(err, checker.ErrContract) {
		t.Errorf("a match that does not continue: %v", err)
	}
}
