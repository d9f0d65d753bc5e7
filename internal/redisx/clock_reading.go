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

// slewDivisor says how much slower cluster time runs while it is ahead of the reference: by
// a tenth of local time. After ten seconds it is one second less ahead.
const slewDivisor = 10

// slew is cluster time as a function of local time, both in ns. It may start ahead of the
// reference. Then it runs slower by a tenth until it equals the time of the reference, and
// as fast as local time from then on. Example: a slew that starts 1 s ahead equals the time
// of the reference after 10 s.
type slew struct {
	offset       int64 // time of the reference minus local time
	start        int64 // local time at which the slew starts
	initialAhead int64 // how far cluster time is ahead of the reference at start; below 0: it steps forward
}

// clusterTimeAt returns cluster time at a local time. It never falls as local time grows.
func (s slew) clusterTimeAt(localTime int64) int64 {
	return localTime + s.offset + s.aheadAt(localTime)
}

// aheadAt returns how far cluster time is ahead of the reference.
func (s slew) aheadAt(localTime int64) int64 {
	return max(0, s.initialAhead-(localTime-s.start)/slewDivisor)
}

// slewTo returns the slew that continues this one from a local time on, and ends at another
// offset. It steps forward if it is behind, and runs slower if it is ahead.
func (s slew) slewTo(offset, localTime int64) slew {
	return slew{offset: offset, start: localTime, initialAhead: s.clusterTimeAt(localTime) - localTime - offset}
}

// estimate is what this node knows about the reference. An estimate never changes after
// other goroutines can see it.
type estimate struct {
	slew
	best       reading // the most certain reading; the slew ends at its offset
	answeredAt int64   // local time of the last answer of the reference, ns
}
