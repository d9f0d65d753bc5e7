package swarm

import "fmt"

// Soak reports whether memory and goroutines of the nodes stayed the same over a long time.
type Soak struct {
	Lines    []string `json:"lines"`
	Failures []string `json:"failures"` // values that grew
}

// The growth that counts as flat over the measured time. It is a share of the mean, or an
// amount so small that it may be chance.
const (
	flatShare      = 0.05
	flatMB         = 8.0
	flatGoroutines = 50.0
)

// warmUp returns how many seconds at the start of a soak are left out. During that time
// pools and caches fill, and finished matches are kept for 5 minutes. It returns 6 of 20
// minutes, and half of a soak below 12 minutes.
func warmUp(seconds float64) float64 { return max(seconds/4, min(seconds/2, 360)) }

// checkSoak fits lines to memory and goroutines of each node between two times.
func checkSoak(all []Sample, fromS, toS float64) *Soak {
	soak := new(Soak)
	fromS += warmUp(toS - fromS)
	nodes := 0
	for _, s := range all {
		nodes = len(s.Nodes)
	}
	if nodes == 0 {
		soak.Failures = append(soak.Failures, "no node was sampled, so it is unknown whether anything grows")
	}
	for i := range nodes {
		var times []float64
		var used []Use
		for _, s := range all {
			if s.AtS >= fromS && s.AtS <= toS && s.Nodes[i].Goroutines > 0 { // 0: the metrics could not be read
				times, used = append(times, s.AtS), append(used, s.Nodes[i])
			}
		}
		name := fmt.Sprintf("node %d: ", i+1)
		if len(used) < 3 {
			soak.Failures = append(soak.Failures, name+"it was sampled too rarely, so it is unknown whether anything grows")
			continue
		}
		soak.checkFlat(name+"live heap, MB", times, used, func(u Use) float64 { return u.HeapMB }, flatMB)
		soak.checkFlat(name+"resident, MB", times, used, func(u Use) float64 { return u.MB }, flatMB)
		soak.checkFlat(name+"goroutines", times, used, func(u Use) float64 { return u.Goroutines }, flatGoroutines)
	}
	return soak
}

// checkFlat checks by linear regression that a value did not grow.
func (k *Soak) checkFlat(name string, times []float64, used []Use, value func(Use) float64, least float64) {
	slope, mean := fitLine(times, used, value)
	seconds := times[len(times)-1] - times[0]
	change := slope * seconds
	k.Lines = append(k.Lines, fmt.Sprintf("%s: mean %.1f, %+.2f in %.0f s (%+.3f a minute)", name, mean, change, seconds, slope*60))
	if change > max(flatShare*mean, least) {
		k.Failures = append(k.Failures, fmt.Sprintf("%s grew by %.1f in %.0f s", name, change, seconds))
	}
}

// fitLine returns the line of least squares: the slope per second, and the mean.
func fitLine(times []float64, used []Use, value func(Use) float64) (slope, mean float64) {
	var center float64
	n := float64(len(times))
	for i, u := range used {
		center += times[i] / n
		mean += value(u) / n
	}
	var numerator, denominator float64
	for i, u := range used {
		numerator += (times[i] - center) * (value(u) - mean)
		denominator += (times[i] - center) * (times[i] - center)
	}
	if denominator == 0 {
		return 0, mean
	}
	return numerator / denominator, mean
}
