package control

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"sync"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
)

// connect connects a person with a token of the given role.
func (p *person) connect(role string) (*talker, error) {
	token, err := testenv.Token(role, p.id)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(p.of.life, replyTimeout)
	defer cancel()
	conn, err := player.Dialer{From: p.from}.Connect(ctx, p.of.URL, player.Guest{ID: p.id, Token: token}, nil)
	if err != nil {
		return nil, err
	}
	t := &talker{Player: conn, of: p.of, waits: map[int64]waiting{}, frames: make(chan player.Frame, 256), gone: make(chan struct{})}
	t.reader.Go(t.read)
	return t, nil
}

// talker is a connection that checks the server: it must answer every request in time,
// and numbered pushes must come in order.
type talker struct {
	*player.Player
	of    *Group
	waits map[int64]waiting
	match string
	seq   int64

	frames chan player.Frame // closed when the connection has ended
	err    error             // why the connection ended; valid once frames is closed
	gone   chan struct{}     // closed by close
	reader sync.WaitGroup
}

// read delivers frames until the connection ends.
func (t *talker) read() {
	defer close(t.frames)
	for {
		f, err := t.Read(time.Hour)
		if err != nil {
			t.err = err
			return
		}
		select {
		case t.frames <- f:
		case <-t.gone:
			return
		}
	}
}

// close closes the connection without a close frame.
func (t *talker) close() {
	close(t.gone)
	_ = t.Close()
	t.reader.Wait()
}

// waiting is a request without a reply.
type waiting struct {
	kind string
	at   time.Time
}

// ask sends a request.
func (t *talker) ask(kind string, data any) error {
	id, err := t.Send(kind, data)
	t.waits[id] = waiting{kind, time.Now()}
	return err
}

// received is a frame and the request that it answers.
type received struct {
	player.Frame
	to   waiting // the request; its kind is "" for a push
	none bool    // no frame came
}

// next waits for a frame for the given time at most.
func (t *talker) next(within time.Duration) (h received, err error) {
	wait := time.NewTimer(within)
	defer wait.Stop()
	select {
	case <-t.of.life.Done():
		return h, t.of.life.Err()
	case <-wait.C:
		return received{none: true}, t.overdue()
	case f, open := <-t.frames:
		if !open {
			return h, t.err
		}
		h.Frame = f
	}
	if h.Re != nil {
		asked, ok := t.waits[*h.Re]
		if !ok {
			return h, fmt.Errorf("a reply to nothing: %s", h.Raw)
		}
		delete(t.waits, *h.Re)
		h.to = asked
	}
	if h.Seq != 0 {
		if h.Match != t.match {
			t.match, t.seq = h.Match, 0
		}
		if t.seq++; h.Seq != t.seq {
			return h, fmt.Errorf("push %d of %s came where %d was due", h.Seq, h.Match, t.seq)
		}
	}
	return h, t.overdue()
}

// overdue returns an error if a request has had no reply for too long.
func (t *talker) overdue() error {
	for _, w := range t.waits {
		if took := time.Since(w.at); took > replyTimeout {
			return fmt.Errorf("no reply to %s for %s", w.kind, took.Round(time.Second))
		}
	}
	return nil
}

// refusal reads an error reply.
func (h received) refusal() (e protocol.Error) {
	_ = json.Unmarshal(h.Data, &e) // an unreadable reply has no code, and no caller expects that
	return e
}

// think waits as long as a person needs to read a question.
func think() time.Duration {
	return 20*time.Millisecond + rand.N(180*time.Millisecond) //nolint:gosec // a pause is no secret
}

// reply answers a question after a pause.
func (t *talker) reply(h received) error {
	var q protocol.Question
	if err := json.Unmarshal(h.Data, &q); err != nil {
		return err
	}
	time.Sleep(think())
	return t.ask(protocol.TypeAnswer, protocol.Answer{Match: h.Match, Question: &q.Question, Given: player.ArbitraryAnswer(q)})
}
