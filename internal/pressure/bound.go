package pressure

import "math"

// bound is how many may be inside a room. It is a limit of how many are there at once,
// by the queueing delay, with feedforward by the use of the processors: who is let in
// takes a share only some seconds later, so that a limit by the delay alone would let
// in far too many, and then nobody for long. For the same reason it follows means of
// some seconds, in small steps: what one look sees is a burst, or a collection of
// garbage.
type bound struct {
	sure float64 // so many always come in

	is    float64     // +Inf for none
	past  [trail]seen // at the last looks
	at    int         // of the oldest of them
	high  int         // looks in a row with too much lag
	since int         // looks since least was set
	least float64     // is does not fall below it; 0: not set
}

// seen is what a look saw.
type seen struct{ inside, busy float64 }

const (
	trail   = 8    // looks until who has come in takes a share in full; and that the mean is of
	steady  = 2    // looks in a row that have too much lag
	easy    = 0.5  // so busy anybody comes in
	full    = 0.85 // so busy they are to be
	used    = 0.95 // so full it is to be, to be widened
	some    = 0.5  // of too much lag has fewer be inside where the processors are too busy
	ease    = 0.97 // of those inside are to be there after a look, while there is too much lag
	stride  = 0.01 // more, where nothing waits; and fewer, where the processors are too busy
	leap    = 0.05 // more, at most
	plunge  = 0.3  // more than are there, at most, when a room first has an end
	halving = 240  // looks in which it falls to a half, at most
)

func newBound(sure int64) bound {
	return bound{sure: float64(sure), is: math.Inf(1)}
}

// look sets the bound, four times a second, by the lag, as a share of what is too much,
// and how busy the processors were since the last look.
func (b *bound) look(lag, busy float64, players int64) float64 {
	inside := float64(players)
	before := min(b.past[b.at].inside, inside)
	b.past[b.at] = seen{inside, busy}
	b.at = (b.at + 1) % trail
	b.since++
	if lag < 1 {
		b.high = 0
		b.adapt(before, inside, busy, lag)
	} else if b.high++; b.high >= steady {
		b.narrow(inside)
	}
	return b.is
}

// narrow has fewer be inside than there were when it began. What others on the machine
// take from this node does not end by refusing players: so a half of them stay for a
// while, whatever the lag.
func (b *bound) narrow(inside float64) {
	if b.since >= halving {
		b.least = 0
	}
	if b.high == steady {
		b.is = min(b.is, inside)
	}
	b.is = max(b.is*ease, b.floor(inside))
}

// floor is a half of those who are inside, or were when it was first asked for.
func (b *bound) floor(inside float64) float64 {
	if b.least == 0 {
		b.since = 0
	}
	b.least = max(b.least, inside/2, b.sure)
	return b.least
}

// adapt has as many be inside as the processors can do with, by what those take who
// have been inside for a while; beyond that some more, by how far the lag is from too
// much. Fewer only where there is some lag, and a half of those inside at the least:
// what else keeps processors busy may well give way.
func (b *bound) adapt(before, inside, latest, lag float64) {
	busy := b.busy()
	goal := before * full / max(busy, easy)
	switch {
	case busy < easy && latest < full:
		b.is, b.least = math.Inf(1), 0
		return
	case math.IsInf(b.is, 1):
		b.is = max(inside, min(goal, inside*(1+plunge)))
	}
	if busy > full && lag >= some {
		b.is = max(min(b.is, max(goal, b.is*(1-stride))), b.floor(inside))
		return
	}
	if inside >= used*b.is {
		goal = max(goal, b.is*(1+stride*(1-lag)*(1-lag)))
	}
	b.is = max(b.is, min(goal, b.is*(1+leap)), b.sure)
}

// busy is the mean of the last looks.
func (b *bound) busy() (mean float64) {
	for _, s := range b.past {
		mean += s.busy / trail
	}
	return mean
}
