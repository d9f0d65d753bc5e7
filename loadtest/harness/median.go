package harness

import "slices"

// Median is the middle one of what each run says, the upper of two.
func Median[T any](runs []T, says func(T) float64) float64 {
	all := make([]float64, len(runs))
	for i, r := range runs {
		all[i] = says(r)
	}
	slices.Sort(all)
	return all[len(all)/2]
}
