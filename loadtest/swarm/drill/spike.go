package drill

import (
	"context"
	"fmt"
	"time"

	"laststand/loadtest/swarm/crowd"
	"laststand/loadtest/swarm/tally"
)

// Spike is what a spike to three times the sustainable load did.
type Spike struct {
	Sustainable float64         `json:"sustainable"` // answers/s
	Players     int             `json:"players"`     // that come to it
	Offered     int             `json:"offered"`     // players in the spike
	Before      tally.Quantiles `json:"before"`      // answers, at the sustainable load
	During      tally.Quantiles `json:"during"`
	Rate        float64         `json:"rate"` // answers/s in the spike
	Shed        int64           `json:"shed"` // refusals in the spike, with a clear code
	Shame       int64           `json:"shame"`

	Refused map[string]int64 `json:"refused"` // both, by what was asked for and the code

	RecoveredS float64  `json:"recovered_s"` // after its end; -1: not
	Bars       []string `json:"bars"`        // what was not held, none is well
}

// within says what a figure may be.
const (
	worse     = 2.0              // times the p99 before, of those admitted
	recoverIn = 10 * time.Second // after a spike
	firstTry  = 100              // players
	lead      = 2                // spans before a rate is measured, for all to have begun
)

// spike finds what is sustainable and offers three times that for a while.
func (d *drill) spike(ctx context.Context) (s *Spike, err error) {
	s = &Spike{Players: d.Duellists}
	if err := d.sustain(ctx, s); err != nil {
		return nil, err
	}
	s.Offered = 3 * s.Players
	d.note("the spike: %d players want to play where %d do, for %v", s.Offered, s.Players, d.For)
	from := d.series.Span(time.Now()) + 1
	if err := d.offer(ctx, s.Offered, d.For); err != nil {
		return nil, err
	}
	to := d.series.Span(time.Now())
	during := d.series.Between(from, to)
	s.During = during.Quantiles(tally.Answer)
	s.Rate = float64(s.During.N) / (float64(max(to-from, 1)) * d.series.Every().Seconds())
	s.turnedAway(during.Counts)
	d.note("the spike is over: %.0f answers/s, p99 %.1f ms, %d shed", s.Rate, s.During.P99, s.Shed)
	ended := d.series.Span(time.Now())
	if err := d.offer(ctx, s.Players, 2*recoverIn); err != nil {
		return nil, err
	}
	s.RecoveredS = d.recovered(s, ended, d.series.Span(time.Now()))
	s.judge(float64(d.Slack.Milliseconds()))
	d.note("recovered after %.0f s", s.RecoveredS)
	return s, nil
}

// turnedAway takes what of all that was counted is a refusal.
func (s *Spike) turnedAway(counts map[string]int64) {
	s.Refused = make(map[string]int64)
	for what, n := range counts {
		switch {
		case telling(what):
			s.Shed += n
		case shameful(what):
			s.Shame += n
		default:
			continue
		}
		s.Refused[what] = n
	}
}

// sustain finds the most players with answers below the bound, or takes those
// that come to the rate.
func (d *drill) sustain(ctx context.Context, s *Spike) error {
	if d.Rate > 0 {
		// measured at what is there first, since what a player comes to is the game's
		s.Players = max(s.Players, firstTry)
		rate, _, err := d.try(ctx, s.Players)
		if err != nil {
			return err
		}
		if rate == 0 {
			return fmt.Errorf("%d players had no answers within %v: give a longer -step", s.Players, d.Step)
		}
		s.Players = even(float64(s.Players) * d.Rate / rate)
		s.Sustainable, s.Before, err = d.try(ctx, s.Players)
		return err
	}
	missed := 0
	for n := max(s.Players, firstTry); missed < 2; n = even(float64(n) * 1.4) {
		rate, q, err := d.try(ctx, n)
		if err != nil {
			return err
		}
		if missed++; q.N > 0 && q.P99 < float64(d.Bound.Milliseconds()) && rate > s.Sustainable {
			s.Sustainable, s.Players, s.Before, missed = rate, n, q, 0
		}
	}
	if s.Sustainable == 0 {
		return fmt.Errorf("not even %d players have answers within %v: give a smaller -duels or a larger -bound", firstTry, d.Bound)
	}
	// once more, since those who were too many have to leave first
	if err := d.offer(ctx, s.Players, 2*recoverIn); err != nil {
		return err
	}
	var err error
	s.Sustainable, s.Before, err = d.try(ctx, s.Players)
	return err
}

func even(n float64) int { return max(int(n)/2*2, 2) }

// try has so many play for a step, and measures.
func (d *drill) try(ctx context.Context, players int) (rate float64, q tally.Quantiles, err error) {
	if err := d.offer(ctx, players, lead*d.series.Every()+time.Duration(float64(players)/d.Ramp*float64(time.Second))); err != nil {
		return 0, q, err
	}
	from := d.series.Span(time.Now()) + 1
	if err := d.pause(ctx, d.Step); err != nil {
		return 0, q, err
	}
	to := d.series.Span(time.Now())
	q = d.series.Between(from, to).Quantiles(tally.Answer)
	rate = float64(q.N) / (float64(max(to-from, 1)) * d.series.Every().Seconds())
	d.note("%d players: %.0f answers/s, p50 %.1f ms, p99 %.1f ms", players, rate, q.P50, q.P99)
	return rate, q, nil
}

// offer has so many duellists there, and waits.
func (d *drill) offer(ctx context.Context, players int, span time.Duration) error {
	for i, l := range d.crowds {
		n := players/len(d.crowds) + min(max(players%len(d.crowds)-i, 0), 1)
		if err := l.tell(crowd.Command{Duellists: max(n, 1)}); err != nil {
			return err
		}
	}
	return d.pause(ctx, span)
}

// recovered is after how many seconds answers were as before, for three spans in
// a row, and nobody was turned away; -1: not in the time.
func (d *drill) recovered(s *Spike, from, to int) float64 {
	well := 0
	for n := from; n < to; n++ {
		sum := d.series.Between(n, n+1)
		q := sum.Quantiles(tally.Answer)
		shed := int64(0)
		for what, n := range sum.Counts {
			if telling(what) {
				shed += n
			}
		}
		if well++; q.N == 0 || shed > 0 || q.P99 > max(worse*s.Before.P99, float64(d.Slack.Milliseconds())) {
			well = 0
		}
		if well == 3 {
			return float64(n-2-from) * d.series.Every().Seconds()
		}
	}
	return -1
}

// judge says which bars were not held.
func (s *Spike) judge(slack float64) {
	if most := max(worse*s.Before.P99, slack); s.During.P99 > most {
		s.Bars = append(s.Bars, fmt.Sprintf("p99 of the admitted is %.1f ms in the spike, %.1f before: at most %.1f", s.During.P99, s.Before.P99, most))
	}
	if s.Shed == 0 {
		s.Bars = append(s.Bars, "nobody was turned away in the spike")
	}
	if s.Shame > 0 {
		s.Bars = append(s.Bars, fmt.Sprintf("%d were turned away without a clear code", s.Shame))
	}
	if s.RecoveredS < 0 || s.RecoveredS > recoverIn.Seconds() {
		s.Bars = append(s.Bars, fmt.Sprintf("recovered after %.0f s (-1: not): at most %.0f", s.RecoveredS, recoverIn.Seconds()))
	}
}
