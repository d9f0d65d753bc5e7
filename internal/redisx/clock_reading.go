package redisx

const (
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

// choose returns the reading to believe after a later one: the more certain of the two. It
// returns the later one if they contradict each other, or are equally certain.
func (r reading) choose(later reading) reading {
	if !r.contradicts(later) && r.uncertainty(later.received) < later.uncertainty(later.received) {
		return r
	}
	return later
}
