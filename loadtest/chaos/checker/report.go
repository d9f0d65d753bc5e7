package checker

import (
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	player "laststand/loadtest/client"
)

// LateMS is how late a step may be by the contract.
const LateMS = 3000

// Report is the result of a run.
type Report struct {
	Config   Config
	Matches  map[string]int    // by mode
	Pushes   int               // numbered pushes of all matches
	Answers  int64             // accepted answers
	Repeated int64             // answers that got their reply a second time
	Settled  int64             // pushes of the type settled
	Unsure   int               // matches in which the result of an answer is unknown
	Late     []int64           // ms by which questions opened late, sorted
	Doubly   int               // of those over LateMS, the ones while two or more nodes were down or stopped
	Delays   Delays            // with which questions reached players
	Travels  player.Reconnects // of all players
	Untruths []string          // the first violations
	Untrue   int               // how many violations there were
}

// counts are counters of contenders while they play, and of judgements afterwards.
type counts struct {
	answers, repeated, settled atomic.Int64

	matches map[string]int
	pushes  int
	unsure  int
	late    []opening
}

// opening is when a question was due, and when it opened, in cluster time.
type opening struct{ due, at int64 }

func (o opening) late() int64 { return o.at - o.due }

// match counts a judged match. It is not safe for concurrent use.
func (c *counts) match(j *judgement) {
	if c.matches == nil {
		c.matches = make(map[string]int)
	}
	c.matches[j.found.Mode]++
	c.pushes += len(j.pushes)
	c.late = append(c.late, j.late...)
	for _, t := range j.all {
		if t.unsure {
			c.unsure++
			break
		}
	}
}

func (o *checker) report(contenders []*contender) Report {
	r := Report{
		Config: o.Config, Matches: o.counts.matches, Pushes: o.counts.pushes, Answers: o.counts.answers.Load(),
		Repeated: o.counts.repeated.Load(), Settled: o.counts.settled.Load(), Unsure: o.counts.unsure,
	}
	for _, one := range o.counts.late {
		r.Late = append(r.Late, one.late())
		if one.late() > LateMS && o.doubly(one) {
			r.Doubly++
		}
	}
	slices.Sort(r.Late)
	for _, c := range contenders {
		r.Travels.Add(c.Reconnects)
	}
	r.Delays = o.delays(contenders)
	r.Untruths, r.Untrue = o.violations.all()
	return r
}

// doubly says whether two or more nodes were down or stopped while a question was late.
// The contract bounds the delay for one failed node. A node that fails while it takes
// over from another adds its own delay.
func (o *checker) doubly(q opening) bool {
	return o.fleet.outages.count(span{o.clock.local(q.due), o.clock.local(q.at)}) > 1
}

// Over returns how many questions opened more than ms late.
func (r Report) Over(ms int64) int {
	i, _ := slices.BinarySearch(r.Late, ms+1)
	return len(r.Late) - i
}

// spread formats the quantiles of sorted durations in ms.
func spread(ms []int64) string {
	at := func(q float64) time.Duration {
		if len(ms) == 0 {
			return 0
		}
		return time.Duration(ms[int(q*float64(len(ms)-1))]) * time.Millisecond
	}
	return fmt.Sprintf("p50 %v, p99 %v, most %v", at(0.5), at(0.99), at(1))
}

// String formats the report for people.
func (r Report) String() string {
	var b strings.Builder
	c, t := r.Config, r.Travels
	fmt.Fprintf(&b, "seed %d: %d nodes, %d players, %v\n", c.Seed, c.Nodes, c.Players, c.For)
	fmt.Fprintf(&b, "matches   %d duels, %d buzzer, %d survival; %d pushes, %d answers, %d sent twice, %d settled told\n",
		r.Matches["duel"], r.Matches["buzzer"], r.Matches["survival"], r.Pushes, r.Answers, r.Repeated, r.Settled)
	fmt.Fprintf(&b, "faults    %d kills, %d stalls, %d drains\n", c.Kills, c.Stalls, c.Drains)
	fmt.Fprintf(&b, "players   %d reconnects: %d cut off, %d from silent nodes, %d from leaving ones (%d replaced)\n",
		t.Connections-c.Players, t.Lost, t.Silent, t.Drained, t.Replaced)
	fmt.Fprintf(&b, "resumed   %d matches with %d missed pushes; %d requests sent again; %d matches with an answer in doubt\n",
		t.Resumed, t.MissedPushes, t.ResentRequests, r.Unsure)
	fmt.Fprintf(&b, "lateness  of %d questions: %s; over %d s: %d, of which %d while two nodes or more were down or stopped\n",
		len(r.Late), spread(r.Late), LateMS/1000, r.Over(LateMS), r.Doubly)
	b.WriteString(r.Delays.String())
	fmt.Fprintf(&b, "untruths  %d\n", r.Untrue)
	for _, one := range r.Untruths {
		fmt.Fprintf(&b, "  - %s\n", one)
	}
	return b.String()
}
