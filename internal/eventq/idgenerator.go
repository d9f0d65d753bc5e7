package eventq

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
)

// naming makes ids that are made nowhere else, neither by another process nor by
// this one after a restart: 60 bits drawn once, and a count. Those of one
// process sort as they were made, for the first 10^12.
type idGenerator struct {
	processID string
	counter   atomic.Uint64
}

const (
	processLen = 12      // of 5 bits each
	firstCount = 1 << 35 // so that counts are of one length, 8 digits of 5 bits
)

func (n *idGenerator) init() {
	n.processID = rand.Text()[:processLen]
	n.counter.Store(firstCount)
}

func (n *idGenerator) next() string {
	var room [32]byte
	return string(strconv.AppendUint(append(room[:0], n.processID...), n.counter.Add(1), 32))
}
