package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/gorilla/websocket"
	"golang.org/x/sync/errgroup"

	"laststand/internal/protocol"
	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// watching is the task of a process of watchers.
type watching struct {
	target, code string
	first, count int
}

// push is the record of one push in one process.
type push struct {
	Sent  int64 `json:"sent"`  // epoch ms, as the push states
	Last  int64 `json:"last"`  // epoch µs at which the last watcher received it
	Count int   `json:"count"` // watchers that received it
	Bytes int   `json:"bytes"`
}

// watch connects watchers, reports that on standard output, and counts pushes until
// standard input ends. Then it writes its counts.
func watch(w watching) error {
	var mu sync.Mutex
	seen := make(map[int64]*push) // by the instant at which it was sent
	note := func(raw []byte, at time.Time) {
		var f struct {
			Type string            `json:"type"`
			Data protocol.Question `json:"data"`
		}
		if json.Unmarshal(raw, &f) != nil || f.Type != protocol.TypeQuestion {
			return
		}
		mu.Lock()
		defer mu.Unlock()
		p := seen[f.Data.OpensAt]
		if p == nil {
			p = &push{Sent: f.Data.OpensAt, Bytes: len(raw)}
			seen[f.Data.OpensAt] = p
		}
		p.Count++
		p.Last = max(p.Last, at.UnixMicro())
	}
	group, ctx := errgroup.WithContext(context.Background())
	group.SetLimit(64)
	for i := range w.count {
		group.Go(func() error {
			read, err := w.connect(ctx, w.first+i)
			if err == nil {
				go follow(read, note) // the goroutine ends with the process
			}
			return err
		})
	}
	if err := group.Wait(); err != nil {
		return err
	}
	fmt.Println("ready")
	_, _ = io.Copy(io.Discard, os.Stdin) // until the parent closes it
	mu.Lock()
	defer mu.Unlock()
	return json.NewEncoder(os.Stdout).Encode(seen)
}

// reader reads one text frame, at the same cost from an arena and from the floor.
type reader func() ([]byte, error)

const replyTimeout = 10 * time.Minute

func follow(read reader, note func([]byte, time.Time)) {
	for {
		raw, err := read()
		if err != nil {
			return
		}
		note(raw, time.Now())
	}
}

// connect connects one watcher. If there is a code, the watcher joins that arena.
func (w watching) connect(ctx context.Context, number int) (reader, error) {
	if w.code == "" {
		dialer := websocket.Dialer{ReadBufferSize: 1024, WriteBufferSize: 512}
		conn, answer, err := dialer.DialContext(ctx, w.target, nil)
		if err != nil {
			return nil, err
		}
		_ = answer.Body.Close()
		return func() ([]byte, error) {
			_ = conn.SetReadDeadline(time.Now().Add(replyTimeout)) // as the players of an arena do
			_, raw, err := conn.ReadMessage()
			return raw, err
		}, nil
	}
	sub := "watcher_" + strconv.Itoa(number)
	token, err := harness.Token("host", sub) // watchers need no row in the ledger
	if err != nil {
		return nil, err
	}
	p, err := player.Connect(ctx, w.target, player.Guest{ID: sub, Token: token}, nil)
	if err != nil {
		return nil, err
	}
	if _, err := p.Send(protocol.TypeArenaJoin, protocol.ArenaJoin{Code: w.code, As: "spectator"}); err != nil {
		return nil, err
	}
	f, err := p.Read(30 * time.Second)
	if err == nil && f.Type != protocol.TypeArenaJoined {
		err = fmt.Errorf("joining was answered with %s", f.Raw)
	}
	return func() ([]byte, error) { return p.ReadRaw(replyTimeout) }, err
}

// watcherGroup is all processes of watchers.
type watcherGroup struct{ members []*member }

type member struct {
	*harness.Child
	out *bufio.Reader
}

// gather starts the watchers and waits until all are connected.
func gather(ctx context.Context, o options, target, code string) (*watcherGroup, error) {
	c := &watcherGroup{}
	each := o.watchers / o.processes
	for i := range o.processes {
		child, err := harness.StartChild(ctx, "-as", "watchers", "-target", target, "-code", code,
			"-watchers", strconv.Itoa(each), "-first", strconv.Itoa(i*each))
		if err != nil {
			return nil, err
		}
		c.members = append(c.members, &member{child, bufio.NewReaderSize(child.Output(), 1<<20)})
	}
	for _, m := range c.members {
		if line, err := m.out.ReadString('\n'); err != nil || line != "ready\n" {
			return nil, fmt.Errorf("watchers could not connect: %q, %w", line, err)
		}
	}
	return c, nil
}

// measureAll ends the watchers. For each push it returns when the last of all watchers
// received it.
func (c *watcherGroup) measureAll(o options) ([]push, error) {
	all := make(map[int64]push)
	for _, m := range c.members {
		_ = m.Close()
		seen := make(map[int64]push)
		if err := json.NewDecoder(m.out).Decode(&seen); err != nil {
			return nil, fmt.Errorf("what watchers have seen: %w", err)
		}
		if err := m.End(); err != nil {
			return nil, err
		}
		for sent, p := range seen {
			p.Count += all[sent].Count
			p.Last = max(p.Last, all[sent].Last)
			all[sent] = p
		}
	}
	var pushes []push
	for _, p := range all {
		if want := o.watchers / o.processes * o.processes; p.Count != want {
			return nil, fmt.Errorf("a push reached %d of %d watchers", p.Count, want)
		}
		pushes = append(pushes, p)
	}
	return pushes, nil
}
