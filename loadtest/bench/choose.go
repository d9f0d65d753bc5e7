package bench

import (
	"fmt"
	"slices"
	"strings"
)

// choose returns the elements whose names are wanted, in the order of all. If wanted is
// empty, it returns all of them. An unknown name is an error.
func choose[T any](all []T, name func(T) string, wanted, separator string) ([]T, error) {
	if wanted == "" {
		return all, nil
	}
	known := make([]string, len(all))
	for i, one := range all {
		known[i] = name(one)
	}
	names := strings.Split(wanted, separator)
	for _, n := range names {
		if !slices.Contains(known, n) {
			return nil, fmt.Errorf("no kind is called %q; the kinds are: %s", n, strings.Join(known, separator))
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(one T) bool { return !slices.Contains(names, name(one)) }), nil
}
