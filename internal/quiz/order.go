package quiz

// ordered is how many choices an order is of at the most.
const ordered = 16

// order is one of choices: by the place where a choice is shown, its index in the
// question. Each place has four bits, its index exclusive-or itself, so that the zero
// value is the question's own order, of however many choices.
type order uint64

func (o order) at(place int) (index int) {
	if place >= ordered {
		return place
	}
	return place ^ int(o>>(4*place)&(ordered-1))
}

// with has a place, which had its own, show another choice.
func (o order) with(place, index int) order {
	return o | order(place^index)<<(4*place)
}
