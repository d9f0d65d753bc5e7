package answers

import (
	"encoding/binary"
	"slices"
)

// AskedQuestion refers to a question of a match: the number of the stored original, and
// for each place in the match the index of its choice in the original.
type AskedQuestion struct {
	ID    int64
	Order []int
}

// PackQuestions packs the questions of a match. Every question is two unsigned varints: the
// number of its original, and its order as a decimal number. The first digit is the number
// of choices, at most 8. Each further digit is the index in the original of the choice at
// the next place: 42031 has original choice 2 in the first place. It is 0 without choices.
func PackQuestions(asked []AskedQuestion) []byte {
	packed := []byte{}
	for _, q := range asked {
		order := uint64(len(q.Order))
		for _, index := range q.Order {
			order = order*10 + uint64(index)
		}
		packed = binary.AppendUvarint(binary.AppendUvarint(packed, uint64(q.ID)), order)
	}
	return packed
}

// UnpackQuestions returns the questions of a match.
func UnpackQuestions(packed []byte) ([]AskedQuestion, error) {
	var asked []AskedQuestion
	for r := (varintReader{rest: packed}); len(r.rest) > 0; {
		q, order := AskedQuestion{ID: int64(r.unsigned())}, r.unsigned()
		for ; order >= 10; order /= 10 {
			q.Order = append(q.Order, int(order%10))
		}
		if slices.Reverse(q.Order); len(q.Order) != int(order) || r.isMalformed {
			return nil, ErrMalformed
		}
		asked = append(asked, q)
	}
	return asked, nil
}
