package runner

import "fmt"

// Soak reports whether memory and goroutines of the nodes stayed the same over a long time.
type Soak struct {
	Lines    []string `json:"lines"`
	Failures []string `json:"failures"` // what grew
}

// The growth that counts as flat over the measured time. It is a share of the mean, or an
// amount so small that it may be chance.
const (
	flatShare      = 0.05
	flatMB         = 8.0
	flatGoroutines = 50.0
)

// settling returns how many seconds at the start of a soak are left out. During that time
// pools and caches fill, and finished matches are kept for 5 minutes. It returns 6 of 20
// minutes, and half of a soak below 12 minutes.
func settling(seconds float64) float64 { return max(seconds/4, min(seconds/2, 360)) }

// checkSoak fits lines to memory and goroutines of each node between two times.
func checkSoak(all []Sample, begin, end float64) *Soak {
	s := new(Soak)
	begin += settling(end - begin)
	var held []Sample
	for _, g := range all {
		if g.AtS >= begin && g.AtS <= end {
			held = append(held, g)
		}
	}
	if len(held) < 3 {
		s.Failures = append(s.Failures, "too short to say whether anything grows")
		return s
	}
	if len(held[0].Nodes) == 0 {
		s.Failures = append(s.Failures, "no node was looked into, so whether anything grows is not known")
	}
	for i := range held[0].Nodes {
		node := func(field func(Use) float64) func(Sample) float64 {
			return func(g Sample) float64 { return field(g.Nodes[i]) }
		}
		name := fmt.Sprintf("node %d: ", i+1)
		held := read(held, i)
		if len(held) < 3 {
			s.Failures = append(s.Failures, name+"it could not be looked into, so whether anything grows is not known")
			continue
		}
		s.checkFlat(name+"heap alive, MB", held, node(func(u Use) float64 { return u.HeapMB }), flatMB)
		s.checkFlat(name+"resident, MB", held, node(func(u Use) float64 { return u.MB }), flatMB)
		s.checkFlat(name+"goroutines", held, node(func(u Use) float64 { return u.Goroutines }), flatGoroutines)
	}
	return s
}

// read returns the samples that have metrics of the node. These have a number of
// goroutines.
func read(all []Sample, node int) (held []Sample) {
	for _, g := range all {
		if g.Nodes[node].Goroutines > 0 {
			held = append(held, g)
		}
	}
	return held
}

// checkFlat checks by linear regression that a value did not grow.
func (s *Soak) checkFlat(name string, held []Sample, field func(Sample) float64, least float64) {
	slope, mean := fit(held, field)
	span := held[len(held)-1].AtS - held[0].AtS
	change := slope * span
	s.Lines = append(s.Lines, fmt.Sprintf("%s: mean %.1f, %+.2f in %.0f s (%+.3f a minute)", name, mean, change, span, slope*60))
	if change > max(flatShare*mean, least) {
		s.Failures = append(s.Failures, fmt.Sprintf("%s grew by %.1f in %.0f s", name, change, span))
	}
}

// fit returns the line of least squares: the slope per second, and the mean.
func fit(held []Sample, field func(Sample) float64) (slope, mean float64) {
	var at float64
	n := float64(len(held))
	for _, g := range held {
		at += g.AtS / n
		mean += field(g) / n
	}
	var over, under float64
	for _, g := range held {
		over += (g.AtS - at) * (field(g) - mean)
		under += (g.AtS - at) * (g.AtS - at)
	}
	if under == 0 {
		return 0, mean
	}
	return over / under, mean
}
