package ledger

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/answers"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

// playedMatch is a settled match with all its answers.
type playedMatch struct {
	result match.Result
	blocks []answers.Block
}

// testQuestion returns a question of the kind that its number stands for.
func testQuestion(number int) *quiz.Question {
	q := &quiz.Question{
		ID: fmt.Sprint("q", number), Kind: quiz.Single, Lang: "en", Category: "Test", Difficulty: quiz.Easy, Text: fmt.Sprint("Question ", number, "?"),
		Choices: []string{"Paris", "Rome", "Athens", "Oslo"}, RightIndexes: []int{1}, Explanation: "Because.",
	}
	switch number % 8 {
	case 5:
		q.Kind, q.RightIndexes = quiz.Multiple, []int{0, 3}
	case 6:
		q.Kind, q.Choices, q.RightIndexes, q.Target = quiz.Number, nil, nil, &quiz.Target{Value: 1969}
	case 7:
		q.Kind, q.Choices, q.RightIndexes, q.Accepted = quiz.Text, nil, nil, []string{"The moon"}
	}
	return q
}

func testGiven(q quiz.DrawnQuestion, rng *rand.Rand) *protocol.Given {
	switch q.Kind {
	case quiz.Multiple:
		return &protocol.Given{Choices: []int{3, rng.IntN(3)}}
	case quiz.Number:
		return &protocol.Given{Value: json.RawMessage(fmt.Sprint(1960 + rng.IntN(20)))}
	case quiz.Text:
		return &protocol.Given{Value: json.RawMessage(fmt.Sprintf(`"moon %d"`, rng.IntN(20)))}
	}
	return &protocol.Given{Choice: new(rng.IntN(4))}
}

// newPlayedMatch returns a match in which about nine of ten players answer each question.
// numbers are those of its questions.
func newPlayedMatch(id string, overAt int64, players []string, numbers ...int) playedMatch {
	rng := rand.New(rand.NewPCG(uint64(overAt), uint64(len(players))))
	p := playedMatch{result: duel(id, overAt, players...)}
	var questions []quiz.DrawnQuestion
	for _, number := range numbers {
		questions = append(questions, testQuestion(number).Shuffle(rng))
	}
	for i := range players {
		if i%answers.BlockPlayers == 0 {
			p.blocks = append(p.blocks, answers.Block{Game: game, Match: id, OverAt: overAt, Index: i / answers.BlockPlayers})
		}
		s := &p.result.Standings[i]
		s.Score, s.Correct, s.Answered, s.Asked = 0, 0, 0, len(numbers)
		for q := range questions {
			if rng.IntN(10) == 0 {
				continue
			}
			elapsed := 300 + rng.Int64N(15_000)
			a := answers.Answer{Player: i, Question: q, Given: testGiven(questions[q], rng), Correct: rng.IntN(2) == 0, ElapsedMS: elapsed, ArrivedAt: overAt - 600_000 + int64(q)*20_000 + elapsed}
			if a.Correct {
				a.Points = 100 + 100*(15_300-elapsed)/15_300
			}
			if rng.IntN(50) == 0 {
				a.Retracted = true
			} else {
				s.Score, s.Answered = s.Score+a.Points, s.Answered+1
				if a.Correct {
					s.Correct++
				}
			}
			p.blocks[i/answers.BlockPlayers].Answers = append(p.blocks[i/answers.BlockPlayers].Answers, a)
		}
	}
	p.blocks[0].Questions = questions
	return p
}

// all returns the answers in the order of players.
func (p playedMatch) all() (all []answers.Answer) {
	for _, b := range p.blocks {
		all = append(all, b.Answers...)
	}
	return all
}

func (p playedMatch) commit(t testing.TB, l *Ledger) {
	t.Helper()
	testenv.Need(l.Results.Commit(t.Context(), results(p.result)))(t)
	testenv.NoError(t, l.Answers.SaveBlocks(t.Context(), p.blocks))
}

// readAnswers returns all stored answers of a match, in the order of players.
func readAnswers(t testing.TB, l *Ledger, id string) (all []answers.Answer) {
	t.Helper()
	m := testenv.Need(l.Answers.Match(t.Context(), game, id))(t)
	err := l.Answers.EachPlayer(t.Context(), m, 0, m.Summary.Players, func(p answers.PlayerAnswers) error {
		all = append(all, p.Answers...)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func TestAnswersAreStoredOnce(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		large, small := newPlayedMatch("m1", 9_000_000, names("p", 230), 1, 2, 5, 6, 7), newPlayedMatch("m2", 9_000_000, []string{"a", "b"}, 7, 2)
		for _, p := range []playedMatch{large, small} {
			p.commit(t, l)
		}
		runConcurrently(4, func(int) {
			if err := l.Answers.SaveBlocks(t.Context(), append(slices.Clone(large.blocks), small.blocks...)); err != nil {
				t.Error(err)
			}
		})
		for id, p := range map[string]playedMatch{"m1": large, "m2": small} {
			if got := readAnswers(t, l, id); !reflect.DeepEqual(got, p.all()) {
				t.Errorf("match %s: %d answers, want %d", id, len(got), len(p.all()))
			}
			m := testenv.Need(l.Answers.Match(t.Context(), game, id))(t)
			if len(m.Questions) != len(p.blocks[0].Questions) || m.Summary.Players != len(p.result.Standings) {
				t.Fatalf("match %+v", m)
			}
			for i, want := range p.blocks[0].Questions {
				got := m.Questions[i]
				if got.Text != want.Text || !slices.Equal(got.Choices(), want.Choices()) || !reflect.DeepEqual(got.Solution(), want.Solution()) || got.Explanation != want.Explanation {
					t.Errorf("question %d of %s is %+v, want %+v", i, id, got.Question, want.Question)
				}
			}
		}
		if originals := testenv.Need(getValue[int](t.Context(), l.database, "SELECT COUNT(*) FROM asked_questions"))(t); originals != 5 {
			t.Errorf("%d originals, want one for each question", originals)
		}
	})
}

// Nodes that store new questions at the same time give each a number of its own.
func TestConcurrentNodesNumberNewQuestions(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		nodes := []*Ledger{openLedger(t, db), openLedger(t, db)}
		const matches, questions = 8, 50
		runConcurrently(matches, func(i int) {
			b := answers.Block{Game: game, Match: fmt.Sprint("m", i), OverAt: 1}
			for k := range questions {
				q := quiz.Question{ID: fmt.Sprint("q", k), Kind: quiz.Text, Text: fmt.Sprint("Question ", k, " of match ", i, "?"), Accepted: []string{"yes"}}
				b.Questions = append(b.Questions, quiz.DrawnQuestion{Question: &q})
			}
			if err := nodes[i%len(nodes)].Answers.SaveBlocks(t.Context(), []answers.Block{b}); err != nil {
				t.Error(err)
			}
		})
		if n := countRows(t, nodes[0], "asked_questions"); n != matches*questions {
			t.Errorf("%d questions are stored, want %d", n, matches*questions)
		}
	})
}

// The questions of a match without answers are stored too.
func TestAMatchWithoutAnswersIsStored(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		p := newPlayedMatch("m1", 9_000_000, []string{"a", "b"}, 1, 2)
		p.blocks[0].Answers = nil
		p.commit(t, l)
		if m := testenv.Need(l.Answers.Match(t.Context(), game, "m1"))(t); len(m.Questions) != 2 || readAnswers(t, l, "m1") != nil {
			t.Errorf("match %+v", m)
		}
	})
}

func TestAPlayerReadsOwnAnswers(t *testing.T) {
	t.Parallel()
	l := openLedger(t, testenv.SQL{Dir: t.TempDir()})
	p := newPlayedMatch("m1", 9_000_000, names("p", 230), 1, 2, 5, 6, 7)
	p.commit(t, l)
	m := testenv.Need(l.Answers.Match(t.Context(), game, "m1"))(t)
	for _, index := range []int{0, 99, 100, 229} {
		want := slices.DeleteFunc(p.all(), func(a answers.Answer) bool { return a.Player != index })
		if got := testenv.Need(l.Answers.Of(t.Context(), m, fmt.Sprintf("p%03d", index)))(t); !reflect.DeepEqual(got, want) {
			t.Errorf("player %d: %+v, want %+v", index, got, want)
		}
	}
	if _, err := l.Answers.Of(t.Context(), m, "stranger"); !errors.Is(err, answers.ErrNotPlayer) {
		t.Errorf("a stranger: %v", err)
	}
	if _, err := l.Answers.Match(t.Context(), game, "none"); !errors.Is(err, match.ErrNotFound) {
		t.Errorf("no such match: %v", err)
	}
	for overAt, want := range map[int64]error{1: answers.ErrNotStored, testenv.Need(l.Now(t.Context()))(t): answers.ErrOnTheWay} {
		id := fmt.Sprint("m", overAt, "ms")
		testenv.Need(l.Results.Commit(t.Context(), results(duel(id, overAt, "a", "b"))))(t)
		m, err := l.Answers.Match(t.Context(), game, id)
		if !errors.Is(err, want) {
			t.Errorf("a match without answers: %v, want %v", err, want)
		}
		for player, want := range map[string]error{"a": nil, "stranger": answers.ErrNotPlayer} {
			if own, err := l.Answers.Of(t.Context(), m, player); !errors.Is(err, want) || len(own) > 0 {
				t.Errorf("%s of a match without answers: %+v, %v", player, own, err)
			}
		}
	}
}

// The ledger finds the standings of players who were erased after the match, by the ids
// that the match store still has.
func TestSeatsOfErasedPlayersAreFoundByFormerIDs(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		for _, id := range []string{erasedSubjectID, "other"} {
			addPlayer(t, l, id)
		}
		r := duel("m1", 5, "other", erasedSubjectID, "robot")
		r.Standings[2].Bot = true
		testenv.Need(l.Results.Commit(t.Context(), results(r)))(t)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, erasedSubjectID))
		seats := testenv.Need(l.Answers.FindSeats(t.Context(), game, "m1", []string{"other", erasedSubjectID, "robot", "stranger"}))(t)
		_, hasStranger := seats.Indexes["stranger"]
		if seats.OverAt != 5 || seats.Indexes["other"] != 0 || seats.Indexes[erasedSubjectID] != 1 || seats.Indexes["robot"] != 2 || hasStranger || !reflect.DeepEqual(seats.Erased, map[int]bool{1: true}) {
			t.Errorf("seats %+v", seats)
		}
		if _, err := l.Answers.FindSeats(t.Context(), game, "m2", nil); !errors.Is(err, match.ErrNotFound) {
			t.Errorf("no such match: %v", err)
		}
	})
}

// documentedQuery returns the query of docs/reference/answers.md that decodes the answers
// of match $1, for the database of l, up to its last SELECT.
func documentedQuery(t *testing.T, l *Ledger) string {
	t.Helper()
	_, text, _ := strings.Cut(string(testenv.Need(os.ReadFile("../../docs/reference/answers.md"))(t)), "```sql\n")
	query, _, found := strings.Cut(text, "\nSELECT s.player")
	if !found {
		t.Fatal("docs/reference/answers.md has no query")
	}
	if l.name == goose.DialectPostgres {
		return query
	}
	digit := func(n int) string {
		return fmt.Sprintf(`(instr('0123456789ABCDEF', substr(hex(substr(a.answers, b.i + 1, 1)), %d, 1)) - 1)`, n)
	}
	return strings.ReplaceAll(query, "get_byte(a.answers, CAST(b.i AS INTEGER))", "("+digit(1)+" * 16 + "+digit(2)+")")
}

// Queries over the tables, without this program's code, find the same scores, counts and
// times as the match.
func TestReportsCanBeComputedInSQL(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		p := newPlayedMatch("m1", 9_000_000_000, names("p", 130), 1, 2, 5, 6, 7)
		p.commit(t, l)
		decode := documentedQuery(t, l)
		type perPlayer struct{ score, correct, answered, index int64 }
		var want []perPlayer
		for i, s := range p.result.Standings {
			want = append(want, perPlayer{s.Score, int64(s.Correct), int64(s.Answered), int64(i)})
		}
		got, err := list(t.Context(), l.database, func(r *perPlayer) []any { return into(&r.score, &r.correct, &r.answered, &r.index) }, decode+`
SELECT CAST(SUM(d.points) AS BIGINT), CAST(SUM(d.correct) AS BIGINT), COUNT(*), s.standing_index
FROM seats s JOIN decoded d ON d.standing_index = s.standing_index AND d.retracted = 0
WHERE s.match_id = $1 GROUP BY s.standing_index ORDER BY s.standing_index`, "m1")
		if err != nil || !slices.Equal(got, want) {
			t.Errorf("%d players, want %d, %v; the first %+v, want %+v", len(got), len(want), err, got[:min(len(got), 1)], want[0])
		}

		type count struct{ question, kind, value, n, elapsed, arrived int64 }
		counts := map[[3]int64]count{}
		for _, a := range p.all() {
			if a.Retracted || a.Given.Value != nil {
				continue
			}
			key := [3]int64{int64(a.Question), 1, 0}
			if a.Given.Choice != nil {
				key[2] = int64(*a.Given.Choice)
			}
			for _, choice := range a.Given.Choices {
				key[1], key[2] = 2, key[2]|1<<choice
			}
			c := counts[key]
			counts[key] = count{key[0], key[1], key[2], c.n + 1, c.elapsed + a.ElapsedMS, c.arrived + a.ArrivedAt}
		}
		byChoice, err := list(t.Context(), l.database, func(c *count) []any { return into(&c.question, &c.kind, &c.value, &c.n, &c.elapsed, &c.arrived) }, decode+`
SELECT question, kind, value, COUNT(*), CAST(SUM(elapsed_ms) AS BIGINT), CAST(SUM(arrived_at) AS BIGINT) FROM decoded
WHERE retracted = 0 AND kind < 3 AND $1 <> '' GROUP BY question, kind, value`, "m1")
		if err != nil || len(byChoice) != len(counts) {
			t.Fatalf("%d counts, want %d, %v", len(byChoice), len(counts), err)
		}
		for _, c := range byChoice {
			if want := counts[[3]int64{c.question, c.kind, c.value}]; c != want {
				t.Errorf("count %+v, want %+v", c, want)
			}
		}
	})
}

// maxAnswerBytes is how much disk an answer with choices may take, with everything that is
// stored because of it.
const maxAnswerBytes = 24

// An answer to a question with choices takes few bytes, with indexes and pages, in large
// and in small matches.
func TestAnswersTakeFewBytesOnDisk(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		usedBytes := func() int64 {
			t.Helper()
			size := `SELECT pg_total_relation_size('answers')`
			if l.name == goose.DialectSQLite3 {
				size = `SELECT (SELECT page_count FROM pragma_page_count) * (SELECT page_size FROM pragma_page_size)`
			}
			return testenv.Need(getValue[int64](t.Context(), l.database, size))(t)
		}
		measure := func(name string, matches []playedMatch) {
			before, count := usedBytes(), 0
			var blocks []answers.Block
			for _, p := range matches {
				blocks, count = append(blocks, p.blocks...), count+len(p.all())
			}
			testenv.NoError(t, l.Answers.SaveBlocks(t.Context(), blocks))
			perAnswer := float64(usedBytes()-before) / float64(count)
			t.Logf("%s: %.1f bytes per answer, %d answers", name, perAnswer, count)
			if perAnswer > maxAnswerBytes {
				t.Errorf("%s: an answer takes %.1f bytes, want at most %d", name, perAnswer, maxAnswerBytes)
			}
		}
		numbers := []int{1, 2, 3, 4, 8, 9, 10, 11, 12, 16}
		measure("race", []playedMatch{newPlayedMatch("m_01KAR8V3T9G4N6Q2X5Z7B0C1D2", 1_795_000_000_000, names("p", 2000), append(numbers, numbers...)...)})
		var duels []playedMatch
		for i := range int64(1500) {
			duels = append(duels, newPlayedMatch(fmt.Sprintf("m_01KAR8V3T9G4N6Q2X5Z7B%05d", i), 1_795_000_001_000+150*i, []string{"a", "b"}, numbers...))
		}
		measure("duels", duels)
	})
}
