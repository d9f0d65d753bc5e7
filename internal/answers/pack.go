package answers

import (
	"cmp"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"strings"
	"unicode/utf8"

	"laststand/internal/protocol"
)

// ErrMalformed means that stored bytes are not the packed form.
var ErrMalformed = errors.New("answers: the stored form is malformed")

// The kinds of a packed given answer.
const (
	givenNothing = iota // of an erased player
	givenChoice         // the value is the index of the choice
	givenChoices        // the value is a bit set of choices, plus their order << maxChoices
	givenText           // the value is an index into the texts
)

// maxChoices is the largest number of choices of a question. It is part of the stored form.
const maxChoices = 8

// Pack packs the answers of a block. Every answer is five unsigned varints (LEB128), in
// the order of positions:
//
//  1. position, less that of the answer before (the first: less 0). A position is the
//     question times BlockPlayers plus the player's place in the block.
//  2. value<<4 | kind of the given answer<<2 | retracted<<1 | correct
//  3. elapsed_ms
//  4. points, in zigzag form
//  5. opening time (stamp - elapsed_ms), less that of the answer before, in zigzag form
//
// texts is a JSON list of the numbers and texts that were given, each once. Reports in SQL
// depend on this form, see docs/reference/answers.md.
func Pack(answers []Answer) (packed []byte, texts string, err error) {
	sorted := slices.Clone(answers)
	slices.SortFunc(sorted, func(a, b Answer) int { return cmp.Compare(a.position(), b.position()) })
	packed, given := []byte{}, givenTexts{indexes: map[string]uint64{}}
	var lastPosition, lastOpening int64
	for i, a := range sorted {
		position, opening := a.position(), a.ArrivedAt-a.ElapsedMS
		if position < lastPosition || i > 0 && position == lastPosition || a.ElapsedMS < 0 {
			return nil, "", fmt.Errorf("answers: pack answer of player %d to question %d: twice or out of range", a.Player, a.Question)
		}
		kindAndValue, err := given.encode(a.Given)
		if err != nil {
			return nil, "", fmt.Errorf("answers: pack answer of player %d to question %d: %w", a.Player, a.Question, err)
		}
		packed = binary.AppendUvarint(packed, uint64(position-lastPosition))
		packed = binary.AppendUvarint(packed, kindAndValue<<2|bit(a.Retracted)<<1|bit(a.Correct))
		packed = binary.AppendUvarint(packed, uint64(a.ElapsedMS))
		packed = binary.AppendVarint(packed, a.Points)
		packed = binary.AppendVarint(packed, opening-lastOpening)
		lastPosition, lastOpening = position, opening
	}
	return packed, "[" + strings.Join(given.texts, ",") + "]", nil
}

// Unpack returns the answers of the block with this index, in the order of positions.
func Unpack(block int, packed []byte, texts string) ([]Answer, error) {
	var given []json.RawMessage
	if err := json.Unmarshal([]byte(texts), &given); err != nil {
		return nil, fmt.Errorf("%w: texts: %w", ErrMalformed, err)
	}
	var answers []Answer
	r := varintReader{rest: packed}
	var position, opening int64
	for len(r.rest) > 0 {
		position += int64(r.unsigned())
		flags, elapsed, points := r.unsigned(), int64(r.unsigned()), r.signed()
		opening += r.signed()
		value, isKnown := decodeGiven(flags>>2, given)
		if !isKnown || r.isMalformed {
			return nil, fmt.Errorf("%w: answer %d of block %d", ErrMalformed, len(answers), block)
		}
		answers = append(answers, Answer{
			Player: block*BlockPlayers + int(position%BlockPlayers), Question: int(position / BlockPlayers), Given: value,
			Correct: flags&1 != 0, Retracted: flags&2 != 0, ElapsedMS: elapsed, Points: points, ArrivedAt: opening + elapsed,
		})
	}
	return answers, nil
}

// position orders the answers of a block.
func (a Answer) position() int64 {
	return int64(a.Question)*BlockPlayers + int64(a.Player%BlockPlayers)
}

func bit(set bool) uint64 {
	if set {
		return 1
	}
	return 0
}

// givenTexts collects the texts of a block.
type givenTexts struct {
	texts   []string
	indexes map[string]uint64
}

// encode returns value<<2 | kind of a given answer.
func (g *givenTexts) encode(given *protocol.Given) (uint64, error) {
	switch {
	case given == nil:
		return givenNothing, nil
	case given.Choice != nil && *given.Choice >= 0:
		return uint64(*given.Choice)<<2 | givenChoice, nil
	case len(given.Choices) > 0:
		value, err := packChoices(given.Choices)
		return value<<2 | givenChoices, err
	case len(given.Value) > 0 && utf8.Valid(given.Value):
		return g.index(withoutNUL(given.Value))<<2 | givenText, nil
	}
	return 0, fmt.Errorf("%+v is no answer", *given)
}

// index returns the index of a text in texts.
func (g *givenTexts) index(text string) uint64 {
	index, isKnown := g.indexes[text]
	if !isKnown {
		index = uint64(len(g.texts))
		g.indexes[text], g.texts = index, append(g.texts, text)
	}
	return index
}

// withoutNUL replaces NUL characters in a JSON text, because PostgreSQL cannot read them
// in its JSON types.
func withoutNUL(raw json.RawMessage) string {
	var text string
	if raw[0] != '"' || !strings.Contains(string(raw), `\u0000`) || json.Unmarshal(raw, &text) != nil {
		return string(raw)
	}
	return string(protocol.AppendJSONText(nil, strings.ReplaceAll(text, "\x00", string(utf8.RuneError))))
}

// decodeGiven is the reverse of encode. isKnown is false if there is no such text.
func decodeGiven(kindAndValue uint64, texts []json.RawMessage) (given *protocol.Given, isKnown bool) {
	value := kindAndValue >> 2
	switch kindAndValue & 3 {
	case givenNothing:
		return nil, true
	case givenChoice:
		return &protocol.Given{Choice: new(int(value))}, true
	case givenChoices:
		return &protocol.Given{Choices: unpackChoices(value)}, true
	}
	if value >= uint64(len(texts)) {
		return nil, false
	}
	return &protocol.Given{Value: texts[value]}, true
}

// packChoices packs several choices and their order. The order is the rank of the permutation
// by its Lehmer code, so it is 0 for ascending choices.
func packChoices(choices []int) (value uint64, err error) {
	order := 0
	for i, choice := range choices {
		if choice < 0 || choice >= maxChoices || value&(1<<choice) != 0 {
			return 0, fmt.Errorf("choice %d is out of range or given twice", choice)
		}
		value |= 1 << choice
		order *= len(choices) - i
		for _, later := range choices[i+1:] {
			if later < choice {
				order++
			}
		}
	}
	return value | uint64(order)<<maxChoices, nil
}

// unpackChoices is the reverse of packChoices.
func unpackChoices(value uint64) protocol.ChoiceIndexes {
	var ascending []int
	for set := value % (1 << maxChoices); set != 0; set &= set - 1 {
		ascending = append(ascending, bits.TrailingZeros64(set))
	}
	order, smaller := value>>maxChoices, make([]int, len(ascending)) // how many later choices are smaller, by place
	for i := len(ascending) - 1; i >= 0; i-- {
		left := uint64(len(ascending) - i)
		smaller[i], order = int(order%left), order/left
	}
	choices := make(protocol.ChoiceIndexes, 0, len(ascending))
	for _, index := range smaller {
		choices = append(choices, ascending[index])
		ascending = slices.Delete(ascending, index, index+1)
	}
	return choices
}

// varintReader reads varints one after the other.
type varintReader struct {
	rest        []byte
	isMalformed bool
}

func (r *varintReader) unsigned() uint64 {
	value, n := binary.Uvarint(r.rest)
	r.isMalformed = r.isMalformed || n <= 0
	r.rest = r.rest[max(n, 0):]
	return value
}

func (r *varintReader) signed() int64 {
	value := r.unsigned()
	return int64(value>>1) ^ -int64(value&1)
}
