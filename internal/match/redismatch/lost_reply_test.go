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

// Fates of the next EXEC that is sent.
const (
	whole     int32 = iota
	unsent          // the connection breaks before the EXEC is sent
	lostReply       // the connection breaks after the server has replied
	severed         // like lostReply, and nothing gets through afterwards
)

var errSevered = errors.New("severed")

// faultyConnections are connections to Redis that can lose an EXEC.
type faultyConnections struct {
	fate   atomic.Int32
	down   atomic.Bool
	lost   atomic.Int32
	atLoss func()
	before func() // every EXEC
}

// client returns another client of the same Redis over these connections.
func (l *faultyConnections) client(t *testing.T, c redis.UniversalClient) redis.UniversalClient {
	t.Helper()
	var other redis.UniversalClient
	switch c := c.(type) {
	case *redis.Client:
		o := *c.Options()
		o.Dialer = l.dialer(o.Dialer)
		other = redis.NewClient(&o)
	case *redis.ClusterClient:
		o := *c.Options()
		o.Dialer = l.dialer(new(net.Dialer).DialContext)
		other = redis.NewClusterClient(&o)
	}
	t.Cleanup(func() { other.Close() })
	return other
}

type dialer func(ctx context.Context, network, addr string) (net.Conn, error)

func (l *faultyConnections) dialer(dial dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if l.down.Load() {
			return nil, errSevered
		}
		c, err := dial(ctx, network, addr)
		return &faultyConn{c, l}, err
	}
}

type faultyConn struct {
	net.Conn
	line *faultyConnections
}

func (c *faultyConn) Write(b []byte) (int, error) {
	if c.line.down.Load() {
		return 0, errSevered
	}
	if !bytes.Contains(b, []byte("\nexec\r\n")) {
		return c.Conn.Write(b)
	}
	if c.line.before != nil {
		c.line.before()
	}
	fate := c.line.fate.Swap(whole)
	if fate == whole {
		return c.Conn.Write(b)
	}
	c.line.lost.Add(1)
	c.line.down.Store(fate == severed)
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
	if c.line.atLoss != nil {
		c.line.atLoss()
	}
	c.Close()
	return len(b), nil
}

// The outcome of a race is correct for every kind of loss.
func TestALostExec(t *testing.T) {
	for name, fate := range map[string]int32{"unsent": unsent, "lostReply": lostReply} {
		t.Run(name, func(t *testing.T) {
			eachArena(t, match.Buzzer, func(p *testMatch) {
				l := new(faultyConnections)
				store := New(l.client(p.T, p.client), p.client)
				p.seat("p_ada", "p_bob")
				open := p.start()
				before := p.read().Version
				a := p.first(open, "p_ada", 10)
				l.fate.Store(fate)
				out, err := store.Race(p.Context(), a)
				a.Record.First = true
				if err != nil || out.Verdict != match.Accepted || !out.Sealed || !reflect.DeepEqual(out.Record, a.Record) || l.lost.Load() != 1 {
					p.Errorf("%+v, %v, %d lost", out, err, l.lost.Load())
				}
				v := p.read()
				if out.Version != v.Version || v.Version != before+1 || out.Answered != 1 || out.Alive != 2 || v.Answered != 1 ||
					v.Totals["p_ada"].Answered != 1 || v.Teams["red"].Score != 1 || v.First.Player != "p_ada" {
					p.Errorf("%+v, %+v", out, v)
				}
				if again := p.race(a, match.Accepted); !again.Sealed || !reflect.DeepEqual(p.read(), v) {
					p.Errorf("run again: %+v, %+v", again, p.read())
				}
				p.checkLog()
			})
		})
	}
}

// While an attempt searches for its outcome, another attempt wins.
func TestALostExecIsOvertaken(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		l := new(faultyConnections)
		store := New(l.client(p.T, p.client), p.client)
		p.seat("p_ada", "p_bob")
		open := p.start()
		l.atLoss = func() { p.race(p.first(open, "p_bob", 20), match.Accepted) }
		l.fate.Store(unsent)
		out, err := store.Race(p.Context(), p.first(open, "p_ada", 10))
		if err != nil || out.Verdict != match.Late {
			p.Errorf("%+v, %v", out, err)
		}
		if v := p.read(); v.Totals["p_ada"] != (match.Totals{}) || v.First.Player != "p_bob" {
			p.Errorf("%+v", v)
		}
	})
}

// If the outcome cannot be found, the race fails. A later attempt finds it.
func TestALostExecWithoutConnection(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		l := new(faultyConnections)
		store := New(l.client(p.T, p.client), p.client)
		p.seat("p_ada", "p_bob")
		a := p.first(p.start(), "p_ada", 10)
		l.fate.Store(severed)
		if out, err := store.Race(p.Context(), a); err == nil {
			p.Errorf("%+v", out)
		}
		l.down.Store(false)
		if out, err := store.Race(p.Context(), a); err != nil || out.Verdict != match.Accepted || !out.Sealed {
			p.Errorf("%+v, %v", out, err)
		}
		if v := p.read(); v.Answered != 1 {
			p.Errorf("%+v", v.State)
		}
	})
}

// A race notices every change between its snapshot and its EXEC.
func TestRaceWatchedKeys(t *testing.T) {
	for name, test := range map[string]struct {
		act  func(p *testMatch, open match.State)
		want match.Verdict
	}{
		"the seal": {func(p *testMatch, _ match.State) { p.applyStep(match.Sealed, 0) }, match.Late},
		"another first": {func(p *testMatch, open match.State) {
			p.race(p.first(open, "p_bob", 10), match.Accepted)
		}, match.Late},
		"the own wrong answer": {func(p *testMatch, open match.State) {
			p.commit(wrong(p.attempt(open, "p_ada", 10)), match.Accepted)
		}, match.Duplicate},
		"the team's lockout": {func(p *testMatch, open match.State) {
			fault := inTeam(red, wrong(p.attempt(open, "p_bob", 10)))
			fault.LockoutMS = 60_000
			p.commit(fault, match.Accepted)
		}, match.LockedOut},
		"a wrong answer of another team": {func(p *testMatch, open match.State) {
			p.commit(inTeam(blue, wrong(p.attempt(open, "p_bob", 10))), match.Accepted)
		}, match.Accepted},
		"more time": {func(p *testMatch, _ match.State) { p.applyStep(match.Open, 0) }, match.Accepted},
	} {
		t.Run(name, func(t *testing.T) {
			eachArena(t, match.Buzzer, func(p *testMatch) {
				p.seat("p_ada", "p_bob")
				open := p.start()
				var once sync.Once
				l := &faultyConnections{before: func() { once.Do(func() { test.act(p, open) }) }}
				a := p.first(open, "p_ada", 10)
				a.LockoutMS = 60_000
				out, err := New(l.client(p.T, p.client), p.client).Race(p.Context(), a)
				if err != nil || out.Verdict != test.want {
					p.Errorf("%+v, %v", out, err)
				}
				if v := p.read(); (v.Totals["p_ada"].Correct == 1) != (test.want == match.Accepted) {
					p.Errorf("%+v", v.Totals)
				}
			})
		})
	}
}

// A race whose watched keys change during every attempt ends without effect.
func TestARaceThatKeepsMoving(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		p.seat("p_ada")
		a := p.first(p.start(), "p_ada", 10)
		l := &faultyConnections{before: func() { p.client.Set(p.Context(), p.keys.first(0), "1", time.Minute) }}
		if out, err := New(l.client(p.T, p.client), p.client).Race(p.Context(), a); !errors.Is(err, errRaceContended) {
			p.Errorf("%+v, %v", out, err)
		}
		if v := p.read(); v.Answered != 0 {
			p.Errorf("%+v", v.State)
		}
	})
}

// If the caller gives up during EXEC, the outcome is still found.
func TestARaceIsGivenUp(t *testing.T) {
	eachArena(t, match.Buzzer, func(p *testMatch) {
		ctx, giveUp := context.WithCancel(p.Context())
		l := &faultyConnections{atLoss: giveUp}
		store := New(l.client(p.T, p.client), p.client)
		p.seat("p_ada", "p_bob")
		a := p.first(p.start(), "p_ada", 10)
		l.fate.Store(lostReply)
		if out, err := store.Race(ctx, a); err != nil || out.Verdict != match.Accepted {
			p.Errorf("%+v, %v", out, err)
		}
	})
}
