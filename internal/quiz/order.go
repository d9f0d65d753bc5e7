package quiz

// maxOrdered is how many choices an order is of at the most.
const maxOrdered = 16

// order is one of choices: by the place where a choice is shown, its index in the
// question. Each place has four bits, its index exclusive-or itself, so that the zero
// value is the question's own order, of however many choices.
type order uint64

func (o order) indexAt(place int) (index int) {
	if place >= maxOrdered {
		return place
	}
	return place ^ int(o>>(4*place)&(maxOrdered-1))
}

// withIndex has a place, which had its own, show another choice.
func (o order) withIndex(place, index int) order {
	return o | order(place^index)<<(4*place)
}
