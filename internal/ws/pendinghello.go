package ws

import (
	"container/heap"
	"container/list"

	"laststand/internal/overload"
)

// pendingHellos holds the sessions that have sent no hello yet, by client address. A
// change takes O(log n) time for n addresses. The zero value is ready for use. It is not
// safe for concurrent use.
type pendingHellos struct {
	count        int64
	lastNumber   uint64 // number of the newest session
	byAddress    map[overload.Key]*addressQueue
	largestFirst addressHeap
}

// addressQueue holds the pending sessions of one client address, oldest first.
type addressQueue struct {
	list.List // of pendingSession

	address overload.Key
	index   int // position in the addressHeap
}

// pendingSession is a session without a hello. number is its order of arrival at this
// node.
type pendingSession struct {
	*session
	number uint64
}

func (q *addressQueue) oldest() pendingSession { return q.Front().Value.(pendingSession) }

// add adds a session that has sent no hello.
func (p *pendingHellos) add(se *session) {
	if p.byAddress == nil {
		p.byAddress = make(map[overload.Key]*addressQueue)
	}
	queue := p.byAddress[se.addressKey()]
	if queue == nil {
		queue = &addressQueue{address: se.addressKey(), index: len(p.largestFirst)}
		p.byAddress[se.addressKey()] = queue
		p.largestFirst = append(p.largestFirst, queue)
	}
	p.count++
	p.lastNumber++
	se.pendingHello = queue.PushBack(pendingSession{se, p.lastNumber})
	heap.Fix(&p.largestFirst, queue.index)
}

// remove removes a session; it does nothing if the session is not pending.
func (p *pendingHellos) remove(se *session) {
	if se.pendingHello == nil {
		return
	}
	queue := p.byAddress[se.addressKey()]
	queue.Remove(se.pendingHello)
	se.pendingHello = nil
	p.count--
	if queue.Len() > 0 {
		heap.Fix(&p.largestFirst, queue.index)
		return
	}
	heap.Remove(&p.largestFirst, queue.index)
	delete(p.byAddress, queue.address)
}

// countForAddress returns how many sessions of an address are pending.
func (p *pendingHellos) countForAddress(address overload.Key) int {
	if queue := p.byAddress[address]; queue != nil {
		return queue.Len()
	}
	return 0
}

// evictionCandidate returns the session to evict first, and how many pending sessions its
// address has. The session is the oldest of the address with the most pending sessions.
// If several addresses have the most, it is the oldest session among these. It returns
// nil if no session is pending.
func (p *pendingHellos) evictionCandidate() (*session, int) {
	if len(p.largestFirst) == 0 {
		return nil, 0
	}
	return p.largestFirst[0].oldest().session, p.largestFirst[0].Len()
}

// addressHeap is a heap.Interface of queues, the longest first. A queue is empty only
// inside add and remove.
type addressHeap []*addressQueue

func (h addressHeap) Len() int { return len(h) }

func (h addressHeap) Less(i, j int) bool {
	if h[i].Len() != h[j].Len() {
		return h[i].Len() > h[j].Len()
	}
	return h[i].Len() > 0 && h[i].oldest().number < h[j].oldest().number
}

func (h addressHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *addressHeap) Push(queue any) { *h = append(*h, queue.(*addressQueue)) }

func (h *addressHeap) Pop() any {
	last := len(*h) - 1
	queue := (*h)[last]
	(*h)[last] = nil
	*h = (*h)[:last]
	return queue
}
