package stress

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

// addSoak checks that memory and goroutines of each node stayed the same between two times.
func (out *Report) addSoak(all []Sample, fromS, toS float64) {
	fromS += warmUp(toS - fromS)
	byNode := map[int][]point{}
	for _, s := range all {
		for i, u := range s.Nodes {
			if s.AtS >= fromS && s.AtS <= toS && u.Goroutines > 0 { // 0: the metrics could not be read
				byNode[i] = append(byNode[i], point{s.AtS, u})
			}
		}
	}
	if len(byNode) == 0 {
		out.Fail("no node was sampled, so it is unknown whether anything grows")
	}
	for i, points := range byNode {
		out.checkFlat(nodeName(i)+": live heap, MB", points, func(u Use) float64 { return u.HeapMB }, flatMB)
		out.checkFlat(nodeName(i)+": resident, MB", points, func(u Use) float64 { return u.MB }, flatMB)
		out.checkFlat(nodeName(i)+": goroutines", points, func(u Use) float64 { return u.Goroutines }, flatGoroutines)
	}
}

// point is what a node used at one time.
type point struct {
	atS float64
	use Use
}

// checkFlat checks by linear regression that a value did not grow.
func (out *Report) checkFlat(name string, points []point, value func(Use) float64, least float64) {
	slope, mean := fitLine(points, value)
	seconds := points[len(points)-1].atS - points[0].atS
	change := slope * seconds
	out.Line("soak      %s: mean %.1f, %+.2f in %.0f s (%+.3f a minute)", name, mean, change, seconds, slope*60)
	if change > max(flatShare*mean, least) {
		out.Fail("%s grew by %.1f in %.0f s", name, change, seconds)
	}
}

// fitLine returns the line of least squares: the slope per second, and the mean.
func fitLine(points []point, value func(Use) float64) (slope, mean float64) {
	var center float64
	n := float64(len(points))
	for _, p := range points {
		center += p.atS / n
		mean += value(p.use) / n
	}
	var numerator, denominator float64
	for _, p := range points {
		numerator += (p.atS - center) * (value(p.use) - mean)
		denominator += (p.atS - center) * (p.atS - center)
	}
	return numerator / max(denominator, 1e-9), mean
}
