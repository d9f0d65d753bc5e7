package redisx

// slewDivisor says how much slower a clock runs that is ahead: by a tenth of local time.
// It makes up for one second in ten.
const slewDivisor = 10

// slew is cluster time as a function of local time, both in ns. It may start ahead of
// its offset. Then it runs slower by a tenth until it meets the offset, and at the pace
// of local time from then on. Example: a slew that starts 1 s ahead meets its offset
// after 10 s.
type slew struct {
	offset       int64 // from local time to the time of the reference
	start        int64 // local time at which the slew starts
	initialAhead int64 // time ahead of the offset at start; below 0: step to the offset
}

// at returns cluster time at a local time. It never falls as local time grows.
func (l slew) at(local int64) int64 { return local + l.offset + l.aheadAt(local) }

// aheadAt returns how far cluster time is ahead of the reference.
func (l slew) aheadAt(local int64) int64 { return max(0, l.initialAhead-(local-l.start)/slewDivisor) }

// slewTo returns the slew that continues this one at a local time and leads to another
// offset. It steps if it is behind, and runs slower if it is ahead.
func (l slew) slewTo(offset, local int64) slew {
	return slew{offset: offset, start: local, initialAhead: l.at(local) - local - offset}
}
