package quiz

// maxOrdered is the largest number of choices that an order covers.
const maxOrdered = 16

// order is an order of choices: it maps each place to an index in the question.
// Each place has four bits, which hold its index XOR the place. The zero value
// is therefore the question's own order, for any number of choices.
//
// Example: with the order 2, 0, 1 place 0 holds 2 XOR 0 = 2, place 1 holds 0
// XOR 1 = 1, and place 2 holds 1 XOR 2 = 3.
type order uint64

func (o order) indexAt(place int) (index int) {
	if place >= maxOrdered {
		return place
	}
	return place ^ int(o>>(4*place)&(maxOrdered-1))
}

// withIndex returns o with place mapped to index. Call it at most once per place: it
// expects that o maps the place to itself.
func (o order) withIndex(place, index int) order {
	return o | order(place^index)<<(4*place)
}
