package control

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"laststand/internal/protocol"
)

// quiet is how long a player in a match may receive nothing. It covers the time of a
// question, its close, and the time given back for a node failure.
const quiet = 15 * time.Second

// duel plays one duel after another.
func (p *person) duel() error {
	t, err := p.connect("player")
	if err != nil {
		return err
	}
	defer t.close()
	if err := t.ask(protocol.TypeDuelJoin, protocol.DuelJoin{}); err != nil {
		return err
	}
	d := duelist{talker: t, id: p.id, last: time.Now()}
	for !d.over {
		h, err := t.next(time.Second)
		if err != nil {
			return err
		}
		if err := d.take(h); err != nil {
			return err
		}
	}
	return nil
}

// duelist is a person who plays duels.
type duelist struct {
	*talker
	id      string
	playing bool
	last    time.Time // when the last frame came
	over    bool
}

func (d *duelist) take(h received) error {
	switch {
	case h.none && d.playing && time.Since(d.last) > quiet:
		return fmt.Errorf("nothing heard of %s for %s", d.match, quiet)
	case h.none:
		d.over = !d.playing && d.of.stopping()
		return nil
	}
	d.last = time.Now()
	switch h.Type {
	case protocol.TypeMatchFound:
		d.playing = true
	case protocol.TypeQuestion:
		return d.reply(h)
	case protocol.TypeAnswered:
		d.of.answers.add(h.ReceivedAt.Sub(h.to.at))
	case protocol.TypeMatchOver:
		return d.ended(h)
	case protocol.TypeError:
		return d.refused(h)
	}
	return nil
}

// ended counts a match that was played to its end, and starts the next one.
func (d *duelist) ended(h received) error {
	var over protocol.MatchOver
	if err := json.Unmarshal(h.Data, &over); err != nil {
		return err
	}
	if over.Reason != "finished" {
		return fmt.Errorf("a duel that both played ended as %q: %s", over.Reason, h.Raw)
	}
	d.playing = false
	d.of.mu.Lock()
	d.of.played[d.id]++
	d.of.mu.Unlock()
	if d.over = d.of.stopping(); d.over {
		return nil
	}
	return d.ask(protocol.TypeDuelJoin, protocol.DuelJoin{})
}

var errRefused = errors.New("refused")

// refused joins again while the server settles the last match, which is no violation.
// Any other refusal is one.
func (d *duelist) refused(h received) error {
	e := h.refusal()
	if h.to.kind != protocol.TypeDuelJoin || e.Code != protocol.CodeUnavailable || e.RetryAfterMS <= 0 {
		return fmt.Errorf("%s: %w: %s", h.to.kind, errRefused, h.Raw)
	}
	if !d.of.pause(time.Duration(e.RetryAfterMS) * time.Millisecond) {
		d.over = true
		return nil
	}
	return d.ask(protocol.TypeDuelJoin, protocol.DuelJoin{})
}
