package quiz

// maxOrdered is the largest number of choices that an order covers.
const maxOrdered = 16

// order is the order of a question's choices in one match. It maps each place in
// the match to an index in the question. Each place has four bits, whose value is
// the index XOR the place. The zero value is therefore the question's own order,
// for any number of choices.
//
// Example: for the indexes 2, 0, 1 the bits of place 0 are 2 XOR 0 = 2, those of
// place 1 are 0 XOR 1 = 1, and those of place 2 are 1 XOR 2 = 3.
type order uint64

// indexAt returns the index in the question of the choice at a place in the match.
func (o order) indexAt(place int) (index int) {
	if place >= maxOrdered {
		return place
	}
	return place ^ int(o>>(4*place)&(maxOrdered-1))
}

// withIndex returns the order o, but with place mapped to index. Call it at most
// once per place, because it expects that o maps the place to itself.
func (o order) withIndex(place, index int) order {
	return o | order(place^index)<<(4*place)
}
