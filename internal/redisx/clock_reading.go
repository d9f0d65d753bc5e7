package redisx

import (
	"cmp"
	"slices"
)

const (
	// window is how many readings the best is chosen from.
	window = 8
	// drift is what two clocks may part by, in parts of time: 500 ppm, the
	// tolerance of RFC 5905. An old reading is less certain by so much.
	drift = 2000
	// grain is the resolution of TIME in ns.
	grain = 1000
)

// reading is one answer of the reference, in ns. Whenever it read its clock was
// between sent and received.
type reading struct {
	sent, received int64 // local time
	told           int64 // time of the reference, since the epoch
}

// offset leads from local time to that of the reference. It is taken as read
// half-way, so the error is at most half the round trip.
func (r reading) offset() int64 { return r.told - (r.sent + (r.received-r.sent)/2) }

// uncertainty bounds the error of the offset at a local time, from received on.
func (r reading) uncertainty(local int64) int64 {
	return (r.received-r.sent)/2 + grain + (local-r.sent)/drift
}

// contradicts reports whether two readings cannot be of one steady clock: the
// reference is another one since, was set, or this machine slept.
func (r reading) contradicts(later reading) bool {
	apart := later.offset() - r.offset()
	return max(apart, -apart) > r.uncertainty(later.received)+later.uncertainty(later.received)
}

// filter keeps the last readings that agree with the newest, as the clock
// filter of NTP does (RFC 5905, section 10), and knows the best of them.
type filter struct{ readings []reading }

// take adds a reading, drops those that it contradicts, and returns the one
// that is most certain by now, the later of equals.
func (f *filter) take(r reading) reading {
	f.readings = slices.DeleteFunc(f.readings, func(old reading) bool { return old.contradicts(r) })
	if len(f.readings) == window {
		f.readings = slices.Delete(f.readings, 0, 1)
	}
	f.readings = append(f.readings, r)
	return slices.MinFunc(f.readings, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.uncertainty(r.received), b.uncertainty(r.received)), cmp.Compare(b.sent, a.sent))
	})
}

// full reports whether there is enough to choose from.
func (f *filter) full() bool { return len(f.readings) == window }
