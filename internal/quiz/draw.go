package quiz

import (
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
)

// ErrTooFewQuestions means that fewer questions match than a draw asked for.
var ErrTooFewQuestions = errors.New("bank: too few questions")

// ErrUnknownID means that the pool has no question with an id.
var ErrUnknownID = errors.New("bank: no question with this id")

// DrawSpec says which questions a match needs. An empty text field matches any value.
type DrawSpec struct {
	Category   string // compared folded, see Fold
	Lang       string // "en" matches en and en-GB: basic filtering, RFC 4647, 3.3.1
	Difficulty string
	Count      int // how many questions to draw
}

// Draw returns spec.Count different random questions that match the spec, with
// their choices shuffled. The result shares the questions with the pool.
//
// Draw uses questions whose ids are seen only if there are too few others, and
// then as few as possible, at random. A nil seen means none. If the
// spec has no language, Draw first draws a language that has enough questions. The
// probability of a language is proportional to its number of questions.
//
// If there are fewer than spec.Count questions, including seen ones, the error
// wraps ErrTooFewQuestions. No other goroutine may use rng at the same time. The
// time is proportional to spec.Count plus the number of seen questions that Draw
// encounters.
func (p *Pool) Draw(spec DrawSpec, seen func(id string) bool, rng *rand.Rand) ([]DrawnQuestion, error) {
	if spec.Count < 1 {
		return nil, fmt.Errorf("bank: draw: %d questions were asked for", spec.Count)
	}
	key := spec.poolKey()
	if key.lang == "" {
		key.lang = p.drawLanguage(key, spec.Count, rng)
	}
	list := p.byKey[key]
	if len(list) < spec.Count {
		return nil, fmt.Errorf("%w: %d match, %d were asked for", ErrTooFewQuestions, p.Count(spec), spec.Count)
	}
	drawn := make([]DrawnQuestion, 0, spec.Count)
	for _, q := range drawUnseen(list, spec.Count, seen, rng) {
		drawn = append(drawn, q.Shuffle(rng))
	}
	return drawn, nil
}

// Pick returns the questions with these ids in this order, with their choices
// shuffled. The result shares the questions with the pool. The error about an
// unknown id names the id and wraps ErrUnknownID. No other goroutine may use rng at
// the same time.
func (p *Pool) Pick(ids []string, rng *rand.Rand) ([]DrawnQuestion, error) {
	picked := make([]DrawnQuestion, 0, len(ids))
	for _, id := range ids {
		q, known := p.byID[id]
		if !known {
			return nil, fmt.Errorf("%w: %q", ErrUnknownID, id)
		}
		picked = append(picked, q.Shuffle(rng))
	}
	return picked, nil
}

// drawLanguage returns a random language with enough questions, or "-", which
// no question has.
func (p *Pool) drawLanguage(key poolKey, count int, rng *rand.Rand) string {
	drawn, total := "-", 0
	for _, key.lang = range p.languages {
		n := len(p.byKey[key])
		if n < count {
			continue
		}
		// Replacing the choice with probability n/total gives each language its
		// share.
		if total += n; rng.IntN(total) < n {
			drawn = key.lang
		}
	}
	return drawn
}

// drawUnseen reads the list in a random order until it has count questions that
// are not seen. If there are too few, it adds seen ones. The list must have at
// least count elements.
func drawUnseen(list []*Question, count int, seen func(id string) bool, rng *rand.Rand) []*Question {
	var drawn, drawnSeen []*Question
	for q := range randomOrder(list, rng) {
		if seen == nil || !seen(q.ID) {
			drawn = append(drawn, q)
		} else if len(drawnSeen) < count {
			drawnSeen = append(drawnSeen, q)
		}
		if len(drawn) == count {
			return drawn
		}
	}
	drawn = append(drawn, drawnSeen[:count-len(drawn)]...)
	rng.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}

// randomOrder yields the elements of a list in a random order. Each order is
// equally likely. Time and memory are proportional to the number of yielded
// elements. It is the shuffle of Fisher and Yates. Instead of changing a copy of
// the list, it remembers the swapped places in a map.
func randomOrder[E any](list []E, rng *rand.Rand) iter.Seq[E] {
	return func(yield func(E) bool) {
		swapped := make(map[int]E) // by place, the element that was swapped to it
		elementAt := func(i int) E {
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
