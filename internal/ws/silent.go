package ws

import (
	"container/heap"
	"container/list"

	"laststand/internal/limit"
)

// silents are the sessions that have said no hello yet, by address. The zero value
// is ready for use. A change costs the logarithm of how many addresses there are.
type silents struct {
	count int64
	came  uint64 // numbers them all
	lines map[limit.Key]*line
	most  crowds
}

// line are those of an address, the oldest first.
type line struct {
	list.List // of arrivals

	from limit.Key
	at   int // in crowds
}

// arrival is a silent session; a number that came before is lower.
type arrival struct {
	*session
	number uint64
}

func (l *line) oldest() arrival { return l.Front().Value.(arrival) }

// add notes a session that has come.
func (s *silents) add(se *session) {
	if s.lines == nil {
		s.lines = make(map[limit.Key]*line)
	}
	l := s.lines[se.from()]
	if l == nil {
		l = &line{from: se.from(), at: len(s.most)}
		s.lines[se.from()] = l
		s.most = append(s.most, l)
	}
	s.count++
	s.came++
	se.silent = l.PushBack(arrival{se, s.came})
	heap.Fix(&s.most, l.at)
}

// remove takes a session out, if it is among them.
func (s *silents) remove(se *session) {
	if se.silent == nil {
		return
	}
	l := s.lines[se.from()]
	l.Remove(se.silent)
	se.silent = nil
	s.count--
	if l.Len() > 0 {
		heap.Fix(&s.most, l.at)
		return
	}
	heap.Remove(&s.most, l.at)
	delete(s.lines, l.from)
}

// of is how many there are of an address.
func (s *silents) of(from limit.Key) int {
	if l := s.lines[from]; l != nil {
		return l.Len()
	}
	return 0
}

// largest is the session that is first to give way to others, the oldest of the
// address that has most, and how many that has; of several the one whose oldest
// came first. Nil where nobody is silent.
func (s *silents) largest() (*session, int) {
	if len(s.most) == 0 {
		return nil, 0
	}
	return s.most[0].oldest().session, s.most[0].Len()
}

// crowds is a heap.Interface of lines that are not empty.
type crowds []*line

func (c crowds) Len() int { return len(c) }

func (c crowds) Less(i, j int) bool {
	if c[i].Len() != c[j].Len() {
		return c[i].Len() > c[j].Len()
	}
	return c[i].Len() > 0 && c[i].oldest().number < c[j].oldest().number
}

func (c crowds) Swap(i, j int) {
	c[i], c[j] = c[j], c[i]
	c[i].at, c[j].at = i, j
}

func (c *crowds) Push(x any) { *c = append(*c, x.(*line)) }

func (c *crowds) Pop() any {
	last := len(*c) - 1
	l := (*c)[last]
	(*c)[last] = nil
	*c = (*c)[:last]
	return l
}
