package redisx

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func ms(n int64) int64 { return n * int64(time.Millisecond) }

// newReading returns a reading of a reference that is ahead by offset. The request and the reply
// take delayTo and delayFrom. All arguments are in ms.
func newReading(sent, delayTo, delayFrom, offset int64) reading {
	return reading{sent: ms(sent), received: ms(sent + delayTo + delayFrom), refTime: ms(sent + delayTo + offset)}
}

func TestOffsetIsTakenInTheMiddleOfTheRoundTrip(t *testing.T) {
	t.Parallel()
	measured := newReading(1000, 30, 10, 5000)
	if got := measured.offset(); got != ms(5010) {
		t.Errorf("offset %d, want that of the middle of the round trip", got)
	}
	if got := measured.uncertainty(measured.received); got != ms(20)+ms(40)/driftDivisor+resolutionNS {
		t.Errorf("uncertain by %d, want half the round trip", got)
	}
	if got := measured.uncertainty(measured.sent + ms(10_000)); got != ms(25)+resolutionNS {
		t.Errorf("uncertain by %d after 10 s, want 5 ms more", got)
	}
}

func TestTheShortestRoundTripIsChosen(t *testing.T) {
	t.Parallel()
	quick := newReading(1000, 1, 1, 0)
	if got := newReading(0, 40, 0, 0).choose(quick); got != quick {
		t.Errorf("the best is %+v", got)
	}
	for i := range int64(8) {
		if got := quick.choose(newReading(2000+i*1000, 40, 0, 0)); got != quick {
			t.Errorf("%d readings later the best is %+v", i+1, got)
		}
	}
	if got := quick.choose(newReading(60_000, 40, 0, 0)); got == quick {
		t.Error("a reading of a minute ago is still the best")
	}
}

// The drift of clocks makes an old reading less certain than a new one.
func TestTheNewerOfEqualReadingsIsChosen(t *testing.T) {
	t.Parallel()
	next := newReading(1000, 5, 5, 0)
	if got := newReading(0, 5, 5, 0).choose(next); got != next {
		t.Errorf("the best is %+v", got)
	}
}

func TestAReadingAfterAStepIsChosen(t *testing.T) {
	t.Parallel()
	for _, jump := range []int64{-1000, -50, 50, 1000} {
		best := newReading(3000, 1, 1, 0)
		if slow := newReading(4000, 1100, 1100, jump); best.choose(slow) == slow {
			t.Errorf("jump %d: the best is a reading that may as well be of the old clock", jump)
		}
		next := newReading(7000, 10, 10, jump)
		if got := best.choose(next); got != next {
			t.Errorf("jump %d: the best is %+v", jump, got)
		}
	}
}

// With any allowed drift and any network delay, the error of the offset is never
// larger than its uncertainty, and no step is reported.
func TestOffsetIsWithinItsUncertainty(t *testing.T) {
	t.Parallel()
	delays := rapid.OneOf(rapid.Int64Range(0, 1e6), rapid.Int64Range(0, 1e9))
	rapid.Check(t, func(r *rapid.T) {
		start := rapid.Int64Range(0, 2e18).Draw(r, "start")
		ppm := rapid.Int64Range(-1e6/driftDivisor, 1e6/driftDivisor).Draw(r, "ppm")
		actual := func(local int64) int64 { return start + local + local*ppm/1e6 }
		var best reading
		local := int64(0)
		for i := range rapid.IntRange(1, 24).Draw(r, "readings") {
			current := reading{sent: local}
			local += delays.Draw(r, "there")
			current.refTime = actual(local) / resolutionNS * resolutionNS
			local += delays.Draw(r, "back")
			current.received = local
			if i == 0 {
				best = current
			}
			if best.contradicts(current) {
				r.Fatalf("%+v contradicts %+v", best, current)
			}
			best = best.choose(current)
			later := local + rapid.Int64Range(0, 60e9).Draw(r, "later")
			difference := later + best.offset() - actual(later)
			if limit := best.uncertainty(later) + 2; max(difference, -difference) > limit {
				r.Fatalf("the error is %d, the uncertainty %d", difference, limit)
			}
			local += rapid.Int64Range(0, 3e9).Draw(r, "pause")
		}
	})
}
