package answers

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"reflect"
	"testing"
	"testing/synctest"
	"time"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Answers that were retracted, or whose question was not revealed, do not count. Those of
// erased players count, except in the choices.
func TestQuestionsAreSummarized(t *testing.T) {
	t.Parallel()
	m := fakeMatch(match.Race, 3)
	questions, err := NewSummaries().Questions(t.Context(), smallSource(), m)
	r := NewReport(fakeArena, m, questions)
	if err != nil || r.ArenaID != "a_1" || r.Match != "m_1" || r.Name != "Cup" || r.Mode != match.Race || r.StartedAt != 1000 || r.OverAt != 9000 {
		t.Errorf("%+v, %v", r, err)
	}
	want := []ReportQuestion{
		{Answered: 3, Right: 2, Facility: 0.6667, MeanMS: 1334, Counts: []int64{0, 1, 1}},
		{Answered: 3, Right: 1, Facility: 0.3333, MeanMS: 7, Counts: []int64{1, 2, 1}},
		{Answered: 1, Right: 1, Facility: 1, MeanMS: 7},
		{Answered: 1, MeanMS: 3},
		{Counts: []int64{0, 0}},
	}
	for i, q := range fakeQuestions() {
		w := &want[i]
		w.Question, w.ID, w.Kind, w.Text, w.Choices, w.Answer = i, q.ID, q.Kind, q.Text, q.Choices(), q.Solution()
		if !reflect.DeepEqual(r.Questions[i], *w) {
			t.Errorf("question %d: %+v\nwant %+v", i, r.Questions[i], *w)
		}
	}
}

// Without a right answer a question does not count. Only survival has such questions.
func TestAVoidQuestionHasNoNumbers(t *testing.T) {
	t.Parallel()
	for mode, isVoid := range map[match.Mode]bool{match.Survival: true, match.Buzzer: false, match.Race: false} {
		source := fakeSource{{answerTo(0, `{"choice":1}`, true, 1000), answerTo(4, `{"choice":1}`, false, 1000)}}
		questions := testenv.Need(NewSummaries().Questions(t.Context(), source, fakeMatch(mode, 1)))(t)
		q := questions[4]
		if q.Void != isVoid || (q.Answered == 0) != isVoid || (q.MeanMS == 0) != isVoid || reflect.DeepEqual(q.Counts, []int64{0, 0}) != isVoid || questions[0].Void {
			t.Errorf("%s: %+v", mode, q)
		}
	}
}

func TestPlayersHaveAnAnswerForEachQuestion(t *testing.T) {
	t.Parallel()
	m := fakeMatch(match.Race, 3)
	r := Report{}
	if err := r.AddPlayers(t.Context(), smallSource(), m, 1, 3); err != nil || len(r.Players) != 2 {
		t.Fatalf("%+v, %v", r, err)
	}
	p := r.Players[0]
	if p.Player != "p_1" || p.Nickname != "Nick 1" || p.Team != "north" || p.Rank != 2 || p.Score != 100 || p.Correct != 1 || p.TimeMS != 2000 || len(p.Answers) != 5 {
		t.Errorf("%+v", p)
	}
	for i, want := range []*protocol.Given{{Choice: new(2)}, {Choices: []int{1, 2}}, nil, nil, nil} {
		if a := p.Answers[i]; a.Question != i || !reflect.DeepEqual(a.Given, want) || (a.ElapsedMS == nil) != (want == nil) || a.Points != 0 {
			t.Errorf("answer %d: %+v, want %+v", i, a, want)
		}
	}
	erased := r.Players[1].Answers[0]
	if erased.Given != nil || !erased.Correct || *erased.ElapsedMS != 2000 || erased.Points != 150 {
		t.Errorf("the answer of an erased player is %+v", erased)
	}
}

// countingSource counts how often all answers are read.
type countingSource struct {
	fakeSource

	reads int
	err   error
}

func (c *countingSource) EachBlock(ctx context.Context, m Match, onBlock func([]Answer)) error {
	c.reads++
	return cmp.Or(c.err, c.fakeSource.EachBlock(ctx, m, onBlock))
}

// The answers of a match are summed once for all pages of its report, and again after a while,
// after a void question, and after an error.
func TestSummariesAreRemembered(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		summaries, source, m := NewSummaries(), &countingSource{fakeSource: smallSource(), err: errSource}, fakeMatch(match.Race, 3)
		check := func(wantReads int) {
			t.Helper()
			for range 3 {
				questions, err := summaries.Questions(t.Context(), source, m)
				if err != nil || len(questions) != len(m.Questions) || source.reads != wantReads {
					t.Errorf("%d questions, %v, %d reads, want %d", len(questions), err, source.reads, wantReads)
				}
			}
		}
		if _, err := summaries.Questions(t.Context(), source, m); !errors.Is(err, errSource) {
			t.Errorf("%v", err)
		}
		source.err = nil
		check(2)
		m.Summary.Voided = []int{1}
		check(3)
		m.Summary.Game = "another"
		check(4)
		time.Sleep(summaryMaxTime)
		check(5)
		for i := range maxSummaries {
			m.Summary.Match = fmt.Sprint("m_cached", i)
			check(6 + i)
		}
		if summaries.recent.Len() != maxSummaries {
			t.Errorf("%d summaries", summaries.recent.Len())
		}
	})
}
