package eventq

import (
	"crypto/rand"
	"strconv"
	"sync/atomic"
)

// idGenerator makes ids that are unique over processes and restarts: 60 random
// bits drawn once, and a count. The ids of one process sort in the order of
// their creation, for the first 10^12.
type idGenerator struct {
	processID string
	counter   *atomic.Uint64
}

const (
	processLen = 12      // characters of 5 bits each
	firstCount = 1 << 35 // gives all counts the same length: 8 digits of 5 bits
)

func newIDGenerator() idGenerator { return idGenerator{rand.Text()[:processLen], new(atomic.Uint64)} }

func (n idGenerator) next() string {
	return string(strconv.AppendUint(append(make([]byte, 0, 32), n.processID...), firstCount+n.counter.Add(1), 32))
}
