package bench

import (
	"bufio"
	"context"
	"io"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"laststand/loadtest/players"
)

// answerTrace holds what happened to answers that come one at a time.
type answerTrace struct {
	mu     sync.Mutex
	events []traceEvent
}

type traceEvent struct {
	at   time.Time
	kind string
}

// The kinds of events, in their order for one answer.
const (
	answerSent   = "sent"
	scriptBegan  = "script began"
	inScript     = "command of the script"
	replyArrived = "reply arrived"
	pushArrived  = "push arrived" // at one of the players
)

func (t *answerTrace) add(kind string, at time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.events = append(t.events, traceEvent{at, kind})
}

// measureTrace adds the time of each part of an answer. Redis tells when it runs which
// command. All clocks are those of this machine.
func (c *cluster) measureTrace(ctx context.Context, k playCase, p *answeringPlayers) error {
	if err := p.wait(ctx, p.firstOver, k.warmUp); err != nil {
		return err
	}
	names, err := scriptNames(ctx)
	if err != nil {
		return err
	}
	conn, err := new(net.Dialer).DialContext(ctx, "tcp", c.masters[0].Options().Addr)
	if err != nil {
		return err
	}
	defer conn.Close()
	if _, err := io.WriteString(conn, "MONITOR\r\n"); err != nil {
		return err
	}
	if err := conn.SetReadDeadline(time.Now().Add(k.duration)); err != nil {
		return err
	}
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		p.trace.addCommand(lines.Text(), names)
	}
	p.trace.addTo(k.traces)
	return p.wait(ctx, p.firstOver, 0)
}

// addCommand adds a line of MONITOR, such as `+1339518083.107412 [0 127.0.0.1:60866] "evalsha"
// "…"`, if it is of a script for an answer.
func (t *answerTrace) addCommand(line string, names map[string]string) {
	fields := strings.Fields(line)
	if len(fields) < 5 { // such as `+OK`
		return
	}
	seconds, fraction, _ := strings.Cut(strings.TrimPrefix(fields[0], "+"), ".")
	micros, err := strconv.ParseInt(seconds+fraction, 10, 64)
	if err != nil {
		return
	}
	name := names[strings.Trim(fields[4], `"`)]
	switch {
	case fields[2] == "lua]":
		t.add(inScript, time.UnixMicro(micros))
	case name == "accept_answers" || name == "apply_step":
		t.add(scriptBegan, time.UnixMicro(micros))
	}
}

// addTo adds the parts of all answers to a table. An answer ends when the next is sent.
func (t *answerTrace) addTo(table *players.Table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.events, func(a, b traceEvent) int { return a.at.Compare(b.at) })
	parts := players.NewRecorder(time.Hour)
	times := make(map[string]time.Time)
	for _, event := range t.events {
		if event.kind == answerSent {
			addParts(parts, times)
			clear(times)
		}
		if _, isKnown := times[event.kind]; !isKnown || event.kind == pushArrived || event.kind == inScript && times[replyArrived].IsZero() {
			times[event.kind] = event.at
		}
	}
	all := parts.Take()
	for _, part := range []string{"client to Redis", "script", "Redis to client", "answer to reply", "answer to the last push"} {
		q := all.Quantiles(part)
		table.Add(part, 1000*q.P50, 1000*q.P99, float64(q.N))
	}
}

func addParts(parts *players.Recorder, times map[string]time.Time) {
	if len(times) < 5 { // an answer that began before, or was not lone
		return
	}
	parts.Add("client to Redis", times[scriptBegan].Sub(times[answerSent]))
	parts.Add("script", times[inScript].Sub(times[scriptBegan]))
	parts.Add("Redis to client", times[replyArrived].Sub(times[inScript]))
	parts.Add("answer to reply", times[replyArrived].Sub(times[answerSent]))
	parts.Add("answer to the last push", times[pushArrived].Sub(times[answerSent]))
}
