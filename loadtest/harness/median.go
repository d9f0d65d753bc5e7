package harness

import "slices"

// Median returns the median of a value over all runs, the upper one of two.
func Median[T any](runs []T, says func(T) float64) float64 {
	all := make([]float64, len(runs))
	for i, r := range runs {
		all[i] = says(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
