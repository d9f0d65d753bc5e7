package redisx

import (
	"cmp"
	"slices"
)

const (
	// filterSize is the number of readings from which the best is chosen.
	filterSize = 8
	// driftDivisor is the inverse of the rate at which two clocks may drift apart: 500
	// ppm, the tolerance of RFC 5905. So a reading becomes less certain with its age.
	driftDivisor = 2000
	// resolutionNS is the resolution of the command TIME, in ns.
	resolutionNS = 1000
)

// reading is one answer of the reference, in ns. The reference read its clock at some
// time between sent and received.
type reading struct {
	sent, received int64 // local time
	refTime        int64 // time of the reference since the epoch
}

// offset returns the time of the reference minus local time. It assumes that the reference
// read its clock in the middle of the round trip. So the error is at most half the round
// trip.
func (r reading) offset() int64 { return r.refTime - (r.sent + (r.received-r.sent)/2) }

// uncertainty returns the largest possible error of the offset, in ns, at a local time after
// received.
func (r reading) uncertainty(localTime int64) int64 {
	return (r.received-r.sent)/2 + resolutionNS + (localTime-r.sent)/driftDivisor
}

// contradicts reports whether two readings cannot come from one steady clock. The cause may
// be that the reference is another server now, that its clock was set, or that this machine
// slept.
func (r reading) contradicts(later reading) bool {
	difference := later.offset() - r.offset()
	return max(difference, -difference) > r.uncertainty(later.received)+later.uncertainty(later.received)
}

// readingFilter keeps the last readings that agree with the newest, like the clock
// filter of NTP (RFC 5905, section 10).
type readingFilter struct{ readings []reading }

// addAndChoose adds a reading and removes the earlier ones that contradict it. It returns the most
// certain reading; of equally certain ones, the latest.
func (f *readingFilter) addAndChoose(r reading) reading {
	f.readings = slices.DeleteFunc(f.readings, func(old reading) bool { return old.contradicts(r) })
	if len(f.readings) == filterSize {
		f.readings = slices.Delete(f.readings, 0, 1)
	}
	f.readings = append(f.readings, r)
	return slices.MinFunc(f.readings, func(a, b reading) int {
		return cmp.Or(cmp.Compare(a.uncertainty(r.received), b.uncertainty(r.received)), cmp.Compare(b.sent, a.sent))
	})
}

// isFull reports whether there are enough readings to choose from.
func (f *readingFilter) isFull() bool { return len(f.readings) == filterSize }
