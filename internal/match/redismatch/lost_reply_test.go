package redismatch

import (
	"bytes"
	"context"
	"errors"
	"net"
	"reflect"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/match"
)

// Fates of the next EXEC of a connection.
const (
	delivered int32 = iota // the EXEC and its reply arrive
	unsent                 // the connection breaks before the EXEC is sent
	lostReply              // the connection breaks after the server has replied
	severed                // like lostReply, and the connections stay down
)

var errSevered = errors.New("severed")

// faultyConnections are connections to Redis that can lose an EXEC.
type faultyConnections struct {
	fate       atomic.Int32
	isDown     atomic.Bool
	losses     atomic.Int32
	onLoss     func()
	beforeExec func() // called before every EXEC; nil for nothing
}

// client returns another client of the same Redis over these connections.
func (l *faultyConnections) client(t *testing.T, product redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	var other redis.UniversalClient
	switch product := product.(type) {
	case *redis.Client:
		options := *product.Options()
		options.Dialer = l.dialer(options.Dialer)
		other = redis.NewClient(&options)
	case *redis.ClusterClient:
		options := *product.Options()
		options.Dialer = l.dialer(new(net.Dialer).DialContext)
		other = redis.NewClusterClient(&options)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (l *faultyConnections) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if l.isDown.Load() {
			return nil, errSevered
		}
		conn, err := dial(ctx, network, addr)
		return &faultyConn{conn, l}, err
	}
}

type faultyConn struct {
	net.Conn
	connections *faultyConnections
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if c.connections.isDown.Load() {
		return 0, errSevered
	}
	if !bytes.Contains(b, []byte("\nexec\r\n")) {
		return c.Conn.Write(b)
	}
	if c.connections.beforeExec != nil {
		c.connections.beforeExec()
	}
	fate := c.connections.fate.Swap(delivered)
	if fate == delivered {
		return c.Conn.Write(b)
	}
	c.connections.losses.Add(1)
	c.connections.isDown.Store(fate == severed)
	if fate != unsent {
		if _, err := c.Conn.Write(b); err != nil {
			return 0, err
		}
		for reply := make([]byte, 4096); !bytes.Contains(reply, []byte("*")); { // the reply of EXEC
			if _, err := c.Read(reply); err != nil {
				return 0, err
			}
		}
	}
	if c.connections.onLoss != nil {
		c.connections.onLoss()
	}
	c.Close()
	return len(b), nil
}

// The outcome of a race is correct for every kind of loss.
func TestOutcomeIsCorrectAfterLostExec(t *testing.T) {
	for name, fate := range map[string]int32{"not sent": unsent, "reply lost": lostReply} {
		t.Run(name, func(t *testing.T) {
			runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
				connections := new(faultyConnections)
				store := New(connections.client(m.T, m.client), m.client)
				m.addSeats("p_ada", "p_bob")
				open := m.startArena()
				before := m.read().Version
				attempt := m.firstAttempt(open, "p_ada", 10)
				connections.fate.Store(fate)
				outcome, err := store.CommitIfFirst(m.Context(), attempt)
				attempt.Record.First = true
				if err != nil || outcome.Verdict != match.VerdictAccepted || !outcome.Sealed || !reflect.DeepEqual(outcome.Record, attempt.Record) || connections.losses.Load() != 1 {
					m.Errorf("%+v, %v, %d lost", outcome, err, connections.losses.Load())
				}
				view := m.read()
				if outcome.Version != view.Version || view.Version != before+1 || outcome.Answered != 1 || outcome.Alive != 2 || view.Answered != 1 ||
					view.Totals["p_ada"].Answered != 1 || view.Teams["red"].Score != 1 || view.First.Player != "p_ada" {
					m.Errorf("%+v, %+v", outcome, view)
				}
				if repeated := m.commitIfFirst(attempt, match.VerdictAccepted); !repeated.Sealed || !reflect.DeepEqual(m.read(), view) {
					m.Errorf("run again: %+v, %+v", repeated, m.read())
				}
				m.checkLog()
			})
		})
	}
}

// While an attempt searches for its outcome, another attempt wins.
func TestOtherAttemptWinsAfterUnsentExec(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		connections := new(faultyConnections)
		store := New(connections.client(m.T, m.client), m.client)
		m.addSeats("p_ada", "p_bob")
		open := m.startArena()
		connections.onLoss = func() { m.commitIfFirst(m.firstAttempt(open, "p_bob", 20), match.VerdictAccepted) }
		connections.fate.Store(unsent)
		outcome, err := store.CommitIfFirst(m.Context(), m.firstAttempt(open, "p_ada", 10))
		if err != nil || outcome.Verdict != match.VerdictLate {
			m.Errorf("%+v, %v", outcome, err)
		}
		if view := m.read(); view.Totals["p_ada"] != (match.Totals{}) || view.First.Player != "p_bob" {
			m.Errorf("%+v", view)
		}
	})
}

// If the outcome cannot be read, CommitIfFirst fails. A repeated attempt finds it.
func TestLostExecWithoutConnectionFails(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		connections := new(faultyConnections)
		store := New(connections.client(m.T, m.client), m.client)
		m.addSeats("p_ada", "p_bob")
		attempt := m.firstAttempt(m.startArena(), "p_ada", 10)
		connections.fate.Store(severed)
		if out, err := store.CommitIfFirst(m.Context(), attempt); err == nil {
			m.Errorf("%+v", out)
		}
		connections.isDown.Store(false)
		if out, err := store.CommitIfFirst(m.Context(), attempt); err != nil || out.Verdict != match.VerdictAccepted || !out.Sealed {
			m.Errorf("%+v, %v", out, err)
		}
		if view := m.read(); view.Answered != 1 {
			m.Errorf("%+v", view.State)
		}
	})
}

// CommitIfFirst detects every relevant change between its snapshot and its EXEC.
func TestRaceDetectsChangesBeforeExec(t *testing.T) {
	for name, test := range map[string]struct {
		change func(m *testMatch, open match.State)
		want   match.Verdict
	}{
		"the question is sealed": {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseSealed, 0) }, match.VerdictLate},
		"another answer is first": {func(m *testMatch, open match.State) {
			m.commitIfFirst(m.firstAttempt(open, "p_bob", 10), match.VerdictAccepted)
		}, match.VerdictLate},
		"the player answers wrong": {func(m *testMatch, open match.State) {
			m.commit(wrongAnswer(m.attempt(open, "p_ada", 10)), match.VerdictAccepted)
		}, match.VerdictDuplicate},
		"the team is locked out": {func(m *testMatch, open match.State) {
			fault := inTeam(red, wrongAnswer(m.attempt(open, "p_bob", 10)))
			fault.LockoutMS = 60_000
			m.commit(fault, match.VerdictAccepted)
		}, match.VerdictLockedOut},
		"another team answers wrong": {func(m *testMatch, open match.State) {
			m.commit(inTeam(blue, wrongAnswer(m.attempt(open, "p_bob", 10))), match.VerdictAccepted)
		}, match.VerdictAccepted},
		"the question is extended": {func(m *testMatch, _ match.State) { m.applyStep(match.PhaseOpen, 0) }, match.VerdictAccepted},
	} {
		t.Run(name, func(t *testing.T) {
			runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
				m.addSeats("p_ada", "p_bob")
				open := m.startArena()
				var once sync.Once
				connections := &faultyConnections{beforeExec: func() { once.Do(func() { test.change(m, open) }) }}
				attempt := m.firstAttempt(open, "p_ada", 10)
				attempt.LockoutMS = 60_000
				out, err := New(connections.client(m.T, m.client), m.client).CommitIfFirst(m.Context(), attempt)
				if err != nil || out.Verdict != test.want {
					m.Errorf("%+v, %v", out, err)
				}
				if view := m.read(); (view.Totals["p_ada"].Correct == 1) != (test.want == match.VerdictAccepted) {
					m.Errorf("%+v", view.Totals)
				}
			})
		})
	}
}

// A race whose watched keys change during every attempt ends without effect.
func TestRaceWithChangingKeysFails(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		m.addSeats("p_ada")
		attempt := m.firstAttempt(m.startArena(), "p_ada", 10)
		connections := &faultyConnections{beforeExec: func() { m.client.Set(m.Context(), m.keys.first(0), "1", time.Minute) }}
		if out, err := New(connections.client(m.T, m.client), m.client).CommitIfFirst(m.Context(), attempt); !errors.Is(err, errRaceContended) {
			m.Errorf("%+v, %v", out, err)
		}
		if view := m.read(); view.Answered != 0 {
			m.Errorf("%+v", view.State)
		}
	})
}

// If the caller gives up during EXEC, the outcome is still found.
func TestOutcomeIsFoundAfterCallerCancels(t *testing.T) {
	runArenaOnEachRedis(t, match.Buzzer, func(m *testMatch) {
		ctx, cancel := context.WithCancel(m.Context())
		connections := &faultyConnections{onLoss: cancel}
		store := New(connections.client(m.T, m.client), m.client)
		m.addSeats("p_ada", "p_bob")
		attempt := m.firstAttempt(m.startArena(), "p_ada", 10)
		connections.fate.Store(lostReply)
		if out, err := store.CommitIfFirst(ctx, attempt); err != nil || out.Verdict != match.VerdictAccepted {
			m.Errorf("%+v, %v", out, err)
		}
	})
}
