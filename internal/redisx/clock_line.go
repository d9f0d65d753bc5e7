package redisx

// slowBy is the part of local time by which a clock that is ahead slows: a
// tenth, so that a second is made up for in ten.
const slowBy = 10

// line is cluster time over local time: ahead of its offset at first, slower by
// a tenth until it has met it, and as fast as local time from then on. All in
// ns.
type line struct {
	offset int64 // from local time to that of the reference
	from   int64 // local time at which the line starts
	ahead  int64 // of the offset, there; below 0 it leaps to it
}

// read is cluster time at a local time. It never falls as local time grows.
func (l line) read(local int64) int64 { return local + l.offset + l.aheadAt(local) }

// aheadAt is how far cluster time is ahead of the reference.
func (l line) aheadAt(local int64) int64 { return max(0, l.ahead-(local-l.from)/slowBy) }

// towards is the line that goes on where this one is at a local time and leads
// to another offset: ahead at once, behind by slowing.
func (l line) towards(offset, local int64) line {
	return line{offset: offset, from: local, ahead: l.read(local) - local - offset}
}
