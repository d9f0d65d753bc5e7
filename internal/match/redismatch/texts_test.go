package redismatch

import (
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"unsafe"

	"laststand/internal/match"
	"laststand/internal/quiz"
)

// A question that is read anew, as from a plan: none of its texts is another's.
func read(text string) []quiz.Question {
	anew := func(s string) string { return strings.Clone(s + text) }
	return []quiz.Question{{
		ID: anew("id"), Kind: quiz.Kind(strings.Clone("single")), Lang: anew("en"), Category: anew("c"),
		Difficulty: quiz.Difficulty(strings.Clone("easy")), Text: anew(""), Choices: []string{anew("1"), anew("2")}, Right: []int{1},
		Accepted: []string{anew("a")}, Explanation: anew("e"), Media: anew("m"), Source: anew("s"), Licence: anew("l"),
	}}
}

func addresses(q quiz.Question) (all []*byte) {
	for _, text := range append([]string{
		q.ID, string(q.Kind), q.Lang, q.Category, string(q.Difficulty), q.Text, q.Explanation, q.Media, q.Source, q.Licence,
	}, append(q.Choices, q.Accepted...)...) {
		all = append(all, unsafe.StringData(text))
	}
	return all
}

// What two matches draw is in memory once, in whatever order its choices are.
func TestTextsAreShared(t *testing.T) {
	t.Parallel()
	var shared texts
	one, other := read("x"), read("x")
	other[0].Choices[0], other[0].Choices[1] = other[0].Choices[1], other[0].Choices[0]
	shared.share(one)
	shared.share(other)
	if other[0].Choices[0] != "2x" || other[0].Choices[1] != "1x" || other[0].Text != "x" || other[0].Explanation != "ex" {
		t.Fatalf("%+v", other)
	}
	other[0].Choices[0], other[0].Choices[1] = other[0].Choices[1], other[0].Choices[0]
	if !slices.Equal(addresses(one[0]), addresses(other[0])) {
		t.Errorf("texts of %+v are there twice", other[0])
	}
}

// However many there are, what is kept is bounded; what is met stays.
func TestTextsAreBounded(t *testing.T) {
	t.Parallel()
	var shared texts
	first := read("often")
	shared.share(first)
	var all sync.WaitGroup
	for w := range 4 {
		all.Go(func() {
			for i := range 400 {
				shared.share(read(fmt.Sprint(w, i, strings.Repeat("long", 64))))
				again := read("often")
				shared.share(again)
				if unsafe.StringData(again[0].Text) != unsafe.StringData(first[0].Text) {
					t.Error("what is met again and again was forgotten")
					return
				}
			}
		})
	}
	all.Wait()
	kept := 0
	for _, generation := range []map[string]string{shared.young, shared.old} {
		for text := range generation {
			kept += len(text)
		}
	}
	if kept > 2*textsKept || len(shared.old) == 0 {
		t.Errorf("%d bytes of texts are kept", kept)
	}
}

// A store reads equal texts as one, of whatever match.
func TestPlansShareTexts(t *testing.T) {
	each(t, func(p *play) {
		one, other := p.planRead(), p.planRead()
		if len(one.Questions) == 0 {
			p.Fatal("no questions")
		}
		for i := range one.Questions {
			if !slices.Equal(addresses(one.Questions[i]), addresses(other.Questions[i])) {
				p.Errorf("texts of question %d are there twice", i)
			}
		}
	})
}

func (p *play) planRead() *match.Plan {
	p.Helper()
	v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, Plan: true})
	if err != nil {
		p.Fatal(err)
	}
	return v.Plan
}
