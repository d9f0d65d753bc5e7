package bank

import (
	"slices"
	"strconv"
	"strings"

	"laststand/internal/quiz"
)

// Duplicate means that an incoming question equals an earlier one, or conflicts
// with it.
type Duplicate struct {
	Index     int    // index of the question in the list incoming
	EarlierID string // id of the earlier question
	Conflict  bool   // same text with another answer: one of the two may be wrong
}

// Duplicates compares incoming questions with existing ones and with earlier
// incoming ones. Two questions are the same if they share the language, the
// folded text and an answer. They conflict if they share only language and
// text. The questions of a conflict may both be correct ("Which of these is a
// prime?"), so a person must review it. Both lists stay unchanged. The result is
// in the order of incoming.
func Duplicates(existing, incoming []quiz.Question) []Duplicate {
	known := make(textIndex, len(existing)+len(incoming))
	for i := range existing {
		known.add(&existing[i])
	}
	var found []Duplicate
	for i := range incoming {
		question := &incoming[i]
		if earlier, exists := known.find(question); exists {
			found = append(found, Duplicate{Index: i, EarlierID: earlier.id, Conflict: earlier.conflict})
		}
		known.add(question)
	}
	return found
}

// textIndex finds questions by language and folded text.
type textIndex map[string][]indexEntry

type indexEntry struct {
	id      string
	answers []string // as answerKeys returns them
}

// earlierQuestion is an earlier question with the same language and text.
type earlierQuestion struct {
	id       string
	conflict bool
}

func (t textIndex) add(q *quiz.Question) {
	key := textKey(q)
	t[key] = append(t[key], indexEntry{q.ID, answerKeys(q)})
}

// find returns an earlier question with the same language and text, if there is
// one. It prefers a question with the same answer to a conflicting one.
func (t textIndex) find(q *quiz.Question) (earlierQuestion, bool) {
	entries := t[textKey(q)]
	if len(entries) == 0 {
		return earlierQuestion{}, false
	}
	answers := answerKeys(q)
	for _, entry := range entries {
		if haveCommonText(entry.answers, answers) {
			return earlierQuestion{id: entry.id}, true
		}
	}
	return earlierQuestion{id: entries[0].id, conflict: true}, true
}

func textKey(q *quiz.Question) string {
	return strings.ToLower(q.Lang) + "\n" + quiz.Fold(q.Text)
}

// answerKeys returns folded texts, each of which is a complete right answer. Two
// questions of different kinds can have the same key: "1969" may be a choice in
// one question and a number in another.
func answerKeys(q *quiz.Question) []string {
	switch {
	case q.Kind == quiz.Number && q.Target != nil:
		return []string{strconv.FormatFloat(q.Target.Value, 'f', -1, 64)}
	case q.Kind == quiz.Text:
		return foldAll(q.Accepted)
	}
	var right []string
	for _, i := range q.RightIndexes {
		if i >= 0 && i < len(q.Choices) {
			right = append(right, q.Choices[i])
		}
	}
	return []string{strings.Join(foldAll(right), "\n")}
}

// foldAll returns the texts folded and sorted.
func foldAll(texts []string) []string {
	folded := make([]string, len(texts))
	for i, text := range texts {
		folded[i] = quiz.Fold(text)
	}
	slices.Sort(folded)
	return folded
}

func haveCommonText(a, b []string) bool {
	return slices.ContainsFunc(a, func(s string) bool { return slices.Contains(b, s) })
}
