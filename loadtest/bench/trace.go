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

	"laststand/internal/testenv"
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

// newTracePart returns the measurement of the time of each part of an answer. Redis tells when it
// runs which command. All clocks are those of this machine.
func newTracePart(r *players.Report, on testenv.NodeOptions, play playOptions, warmUp, duration time.Duration) part {
	t := r.Table("lone answer", "p50 µs", "p99 µs", "answers")
	return playPart("trace", on, play, func(ctx context.Context, p *answeringPlayers) {
		p.start()
		p.playFor(warmUp)
		p.trace.follow(ctx, p.cluster.Masters[0].Addr, duration)
		p.trace.addTo(t)
		p.playFor(0)
	})
}

// follow adds the commands that a Redis runs within a time.
func (t *answerTrace) follow(ctx context.Context, address string, duration time.Duration) {
	names := scriptNames(ctx)
	conn := testenv.Must(new(net.Dialer).DialContext(ctx, "tcp", address))
	defer conn.Close()
	testenv.Must(io.WriteString(conn, "MONITOR\r\n"))
	testenv.MustDo(conn.SetReadDeadline(time.Now().Add(duration)))
	for lines := bufio.NewScanner(conn); lines.Scan(); {
		t.addCommand(lines.Text(), names)
	}
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

// answerParts are the parts of an answer, by the events at their start and end.
var answerParts = []struct{ name, from, to string }{
	{"client to Redis", answerSent, scriptBegan}, {"script", scriptBegan, inScript}, {"Redis to client", inScript, replyArrived},
	{"answer to reply", answerSent, replyArrived}, {"answer to the last push", answerSent, pushArrived},
}

// addTo adds the parts of all answers to a table. An answer ends when the next is sent. One that
// lacks an event began before, or was not lone.
func (t *answerTrace) addTo(table *players.Table) {
	t.mu.Lock()
	defer t.mu.Unlock()
	slices.SortFunc(t.events, func(a, b traceEvent) int { return a.at.Compare(b.at) })
	recorder, times := players.NewRecorder(time.Hour), make(map[string]time.Time)
	for _, event := range t.events {
		if event.kind == answerSent {
			for _, part := range answerParts {
				if len(times) == 5 {
					recorder.Add(part.name, times[part.to].Sub(times[part.from]))
				}
			}
			clear(times)
		}
		if _, isKnown := times[event.kind]; !isKnown || event.kind == pushArrived || event.kind == inScript && times[replyArrived].IsZero() {
			times[event.kind] = event.at
		}
	}
	all := recorder.Take()
	for _, part := range answerParts {
		q := all.Quantiles(part.name)
		table.Add(part.name, 1000*q.P50, 1000*q.P99, float64(q.N))
	}
}
