package bank

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"

	"laststand/internal/quiz"
)

// Pool is an index of the questions of some banks, from which matches draw. It
// never changes and is safe for concurrent use. It uses the questions of the
// banks, so the caller must not change the banks any more.
type Pool struct {
	questions    []*quiz.Question
	byID         map[string]int32    // indexes into questions
	indexesByKey map[poolKey][]int32 // indexes into questions
	languages    []string            // lower-case tags of the questions, sorted
}

// NewPool makes a pool of banks. It leaves out invalid questions. Of several
// questions with the same id, it uses the first.
func NewPool(banks ...*Bank) *Pool {
	p := &Pool{byID: make(map[string]int32), indexesByKey: make(map[poolKey][]int32)}
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

func (p *Pool) addQuestion(q *quiz.Question) {
	index := int32(len(p.questions))
	p.questions = append(p.questions, q)
	p.byID[q.ID] = index
	p.languages = append(p.languages, strings.ToLower(q.Lang))
	for _, key := range poolKeys(q) {
		p.indexesByKey[key] = append(p.indexesByKey[key], index)
	}
}

// Count returns how many questions match the spec; it ignores spec.Count. If the
// spec has no language, it counts only the language with the most questions,
// because a match uses only one language.
func (p *Pool) Count(spec DrawSpec) int {
	key := spec.poolKey()
	if key.lang != "" {
		return len(p.indexesByKey[key])
	}
	highest := 0
	for _, key.lang = range p.languages {
		highest = max(highest, len(p.indexesByKey[key]))
	}
	return highest
}

// HasEnough reports whether Draw can return spec.Count questions.
func (p *Pool) HasEnough(spec DrawSpec) bool { return p.Count(spec) >= spec.Count }

// Draw returns spec.Count different random questions that match the spec, with
// their choices shuffled. The result shares the questions with the pool.
//
// Draw uses questions whose ids are in seen only if there are too few others, and
// then as few as possible, at random. seen may be nil and stays unchanged. If the
// spec has no language, Draw first draws a language that has enough questions. The
// probability of a language is proportional to its number of questions.
//
// If there are fewer than spec.Count questions, including seen ones, the error
// wraps ErrTooFewQuestions. No other goroutine may use rng at the same time. The
// time is proportional to spec.Count plus the number of seen questions that Draw
// encounters.
func (p *Pool) Draw(spec DrawSpec, seen map[string]struct{}, rng *rand.Rand) ([]quiz.DrawnQuestion, error) {
	if spec.Count < 1 {
		return nil, fmt.Errorf("bank: draw: %d questions were asked for", spec.Count)
	}
	key := spec.poolKey()
	if key.lang == "" {
		key.lang = p.drawLanguage(key, spec.Count, rng)
	}
	list := p.indexesByKey[key]
	if len(list) < spec.Count {
		return nil, fmt.Errorf("%w: %d match, %d were asked for", ErrTooFewQuestions, p.Count(spec), spec.Count)
	}
	drawn := make([]quiz.DrawnQuestion, 0, spec.Count)
	for _, index := range p.drawIndexes(list, spec.Count, seen, rng) {
		drawn = append(drawn, p.questions[index].Shuffle(rng))
	}
	return drawn, nil
}

// Pick returns the questions with these ids in this order, with their choices
// shuffled. The result shares the questions with the pool. The error about an
// unknown id names the id and wraps ErrUnknownID. No other goroutine may use rng at
// the same time.
func (p *Pool) Pick(ids []string, rng *rand.Rand) ([]quiz.DrawnQuestion, error) {
	picked := make([]quiz.DrawnQuestion, 0, len(ids))
	for _, id := range ids {
		index, known := p.byID[id]
		if !known {
			return nil, fmt.Errorf("%w: %q", ErrUnknownID, id)
		}
		picked = append(picked, p.questions[index].Shuffle(rng))
	}
	return picked, nil
}

// drawLanguage returns a random language with enough questions, or "-", which
// no question has.
func (p *Pool) drawLanguage(key poolKey, count int, rng *rand.Rand) string {
	drawn, total := "-", 0
	for _, key.lang = range p.languages {
		n := len(p.indexesByKey[key])
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

// drawIndexes reads the list in a random order until it has count questions that
// are not in seen. If there are too few, it adds seen ones. The list must have at
// least count elements.
func (p *Pool) drawIndexes(list []int32, count int, seen map[string]struct{}, rng *rand.Rand) []int32 {
	var drawn, seenIndexes []int32
	for index := range randomOrder(list, rng) {
		if _, known := seen[p.questions[index].ID]; !known {
			drawn = append(drawn, index)
		} else if len(seenIndexes) < count {
			seenIndexes = append(seenIndexes, index)
		}
		if len(drawn) == count {
			return drawn
		}
	}
	drawn = append(drawn, seenIndexes[:count-len(drawn)]...)
	rng.Shuffle(len(drawn), func(i, j int) { drawn[i], drawn[j] = drawn[j], drawn[i] })
	return drawn
}
