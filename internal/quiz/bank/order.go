package bank

import (
	"iter"
	"math/rand/v2"
)

// randomOrder yields the elements of a list in a random order. Each order is
// equally likely. Time and memory are proportional to the number of yielded
// elements. It is the shuffle of Fisher and Yates. Instead of changing a copy of
// the list, it remembers the swapped places in a map.
func randomOrder(list []int32, rng *rand.Rand) iter.Seq[int32] {
	return func(yield func(int32) bool) {
		swapped := make(map[int]int32) // by place, the element that was swapped to it
		elementAt := func(i int) int32 {
			if element, moved := swapped[i]; moved {
				return element
			}
			return list[i]
		}
		for i := range list {
			j := i + rng.IntN(len(list)-i)
			element := elementAt(j)
			swapped[j] = elementAt(i)
			delete(swapped, i)
			if !yield(element) {
				return
			}
		}
	}
}
