package quiz

import (
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

// Count returns how many questions match the spec; it ignores spec.Count. If the
// spec has no language, it counts only the language with the most questions,
// because a match uses only one language.
func (p *Pool) Count(spec DrawSpec) int {
	key := spec.poolKey()
	if key.lang != "" {
		return len(p.byKey[key])
	}
	highest := 0
	for _, key.lang = range p.languages {
		highest = max(highest, len(p.byKey[key]))
	}
	return highest
}

// HasEnough reports whether Draw can return spec.Count questions.
func (p *Pool) HasEnough(spec DrawSpec) bool { return p.Count(spec) >= spec.Count }

// poolKey identifies a list of questions in a Pool. A field "" means any value.
type poolKey struct {
	category   string // folded
	lang       string // lower case
	difficulty Difficulty
}

func (s *DrawSpec) poolKey() poolKey {
	return poolKey{Fold(s.Category), strings.ToLower(s.Lang), Difficulty(s.Difficulty)}
}

// poolKeys returns the keys of all lists that contain a question.
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
