package redisx

import (
	"time"
)

const (
	// recordTTL is how long Redis keeps the record after the last write of any node.
	recordTTL = time.Minute
	// maxRecordAge is the age up to which a record counts as written by a living node.
	maxRecordAge = 5 * time.Second
	// recordWait is how long a new node waits for a living node to replace an old
	// record. It is longer than the pause between two readings.
	recordWait = 1500 * time.Millisecond
	// futureRecordWait is recordWait for a record from the reference's future. The
	// reference has stepped back since a node wrote the record, less than recordTTL ago.
	// That node is probably alive, and its age cannot be told from the record.
	futureRecordWait = 4 * time.Second
	// maxRecordAhead is how far ahead of the reference a node may start from a record
	// if no other node is alive.
	maxRecordAhead = time.Minute
)

// record is the newest published cluster time and the time of the reference at that
// moment, both in ns since the epoch. The zero value means that there is no record.
type record struct{ clusterTime, refTime int64 }

// isFresh reports whether the record is so new at refTime, a time of the reference, that
// the node that wrote it is still alive.
func (r record) isFresh(refTime int64) bool {
	return r.refTime > 0 && refTime >= r.refTime && refTime-r.refTime <= int64(maxRecordAge)
}

// waitForUpdate returns how long a new node waits for a living node to replace the
// record; 0: the record is usable, or there is none.
func (r record) waitForUpdate(refTime int64) time.Duration {
	switch {
	case r.refTime == 0 || r.isFresh(refTime):
		return 0
	case r.refTime > refTime:
		return futureRecordWait
	}
	return recordWait
}

// clusterTimeAt returns the cluster time of the running nodes at refTime, a time of the
// reference.
func (r record) clusterTimeAt(refTime int64) int64 {
	elapsed := max(refTime-r.refTime, 0)
	if r.clusterTime > r.refTime { // cluster time is ahead, so it runs slower
		elapsed -= elapsed / slewDivisor
	}
	return r.clusterTime + elapsed
}
