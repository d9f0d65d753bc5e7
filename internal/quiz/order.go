package quiz

// maxOrderedChoices is the largest number of choices that an order covers.
const maxOrderedChoices = 16

// choiceOrder is the order of a question's choices in one match. It maps each place in
// the match to an index in the question. Each place has four bits, whose value is
// the index XOR the place. The zero value is therefore the question's own order,
// for any number of choices.
//
// Example: for the indexes 2, 0, 1 the bits of place 0 are 2 XOR 0 = 2, those of
// place 1 are 0 XOR 1 = 1, and those of place 2 are 1 XOR 2 = 3.
type choiceOrder uint64

// indexAt returns the index in the question of the choice at a place in the match.
func (o choiceOrder) indexAt(place int) (index int) {
	if place >= maxOrderedChoices {
		return place
	}
	return place ^ int(o>>(4*place)&(maxOrderedChoices-1))
}

// withIndex returns the order o, but with place mapped to index. Call it at most
// once per place, because it expects that o maps the place to itself.
func (o choiceOrder) withIndex(place, index int) choiceOrder {
	return o | choiceOrder(place^index)<<(4*place)
}
