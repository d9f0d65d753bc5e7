package quiz

import (
	"cmp"
	"errors"
	"fmt"
	"iter"
	"math/rand/v2"
	"slices"
	"strings"
)

// Pool is an index of the questions of some banks, from which matches draw. It
// never changes and is safe for concurrent use. It uses the questions of the
// banks, so the caller must not change the banks any more.
type Pool struct {
	byID      map[string]*Question
	byKey     map[poolKey][]*Question
	languages []string // lower-case tags of the questions, sorted
}

// NewPool makes a pool of banks. It leaves out invalid questions. Of several
// questions with the same id, it uses the first.
func NewPool(banks ...*Bank) *Pool {
	p := &Pool{byID: make(map[string]*Question), byKey: make(map[poolKey][]*Question)}
	for _, bank := range banks {
		for i := range bank.Questions {
			question := &bank.Questions[i]
			if _, exists := p.byID[question.ID]; !exists && len(question.ValidationErrors()) == 0 {
				p.addQuestion(question)
			}
		}
	}
	slices.Sort(p.languages)
	p.languages = slices.Compact(p.languages)
	return p
}

func (p *Pool) addQuestion(q *Question) {
	p.byID[q.ID] = q
	p.languages = append(p.languages, strings.ToLower(q.Lang))
	for _, key := range poolKeys(q) {
		p.byKey[key] = append(p.byKey[key], q)
	}
}

// Count returns how many questions match a filter. If it has no language, Count counts only the
// language with the most questions, because a match uses only one language.
func (p *Pool) Count(filter Filter) int {
	key := filter.poolKey()
	if key.lang != "" {
		return len(p.byKey[key])
	}
	highest := 0
	for _, key.lang = range p.languages {
		highest = max(highest, len(p.byKey[key]))
	}
	return highest
}

// poolKey identifies a list of questions in a Pool. A field "" means any value.
type poolKey struct {
	category   string // folded
	lang       string // lower case
	difficulty Difficulty
}

func (f Filter) poolKey() poolKey {
	return poolKey{Fold(f.Category), strings.ToLower(f.Lang), Difficulty(strings.ToLower(f.Difficulty))}
}

func poolKeys(q *Question) []poolKey {
	var keys []poolKey
	category := Fold(q.Category)
	for _, lang := range langRanges(q.Lang) {
		for _, c := range []string{"", category} {
			keys = append(keys, poolKey{c, lang, ""}, poolKey{c, lang, q.Difficulty})
		}
	}
	return keys
}

// langRanges returns the language ranges that match a tag: zh-Hant-TW is in
// "", "zh", "zh-hant" and "zh-hant-tw".
func langRanges(tag string) []string {
	tag = strings.ToLower(tag)
	ranges := []string{""}
	for i := range len(tag) {
		if tag[i] == '-' {
			ranges = append(ranges, tag[:i])
		}
	}
	return append(ranges, tag)
}

// ErrTooFewQuestions means that fewer questions match than a draw asked for.
var ErrTooFewQuestions = errors.New("bank: too few questions")

// ErrUnknownID means that the pool has no question with an id.
var ErrUnknownID = errors.New("bank: no question with this id")

// Filter selects questions. An empty field matches any value.
type Filter struct {
	Category   string `json:"category,omitempty"`   // compared folded, see Fold
	Lang       string `json:"lang,omitempty"`       // "en" matches en and en-GB: basic filtering, RFC 4647, 3.3.1
	Difficulty string `json:"difficulty,omitempty"` // in any case
}

// IsCompatible reports whether one match can match both filters: each field is
// equal, or empty in one of them.
func (f Filter) IsCompatible(other Filter) bool {
	compatible := func(a, b string) bool { return a == "" || b == "" || a == b }
	return compatible(f.Category, other.Category) && compatible(f.Lang, other.Lang) && compatible(f.Difficulty, other.Difficulty)
}

// Merge returns the filter that selects only what both filters select. They must be
// compatible.
func (f Filter) Merge(other Filter) Filter {
	return Filter{cmp.Or(f.Category, other.Category), cmp.Or(f.Lang, other.Lang), cmp.Or(f.Difficulty, other.Difficulty)}
}

// Draw returns count different random questions that match the filter, with
// their choices shuffled. The result shares the questions with the pool.
//
// Draw uses questions whose ids are seen only if there are too few others, and
// then as few as possible, at random. A nil seen means none. If the
// filter has no language, Draw first draws a language that has enough questions. The
// probability of a language is proportional to its number of questions.
//
// If there are fewer than count questions, including seen ones, the error
// wraps ErrTooFewQuestions. No other goroutine may use rng at the same time. The
// time is proportional to count plus the number of seen questions that Draw
// encounters.
func (p *Pool) Draw(filter Filter, count int, seen func(id string) bool, rng *rand.Rand) ([]DrawnQuestion, error) {
	if count < 1 {
		return nil, fmt.Errorf("bank: draw: %d questions were asked for", count)
	}
	key := filter.poolKey()
	if key.lang == "" {
		key.lang = p.drawLanguage(key, count, rng)
	}
	list := p.byKey[key]
	if len(list) < count {
		return nil, fmt.Errorf("%w: %d match, %d were asked for", ErrTooFewQuestions, p.Count(filter), count)
	}
	drawn := make([]DrawnQuestion, 0, count)
	for _, q := range drawUnseen(list, count, seen, rng) {
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
