package ledger

import (
	"cmp"
	"errors"
	"fmt"
	"math/rand/v2"
	"reflect"
	"slices"
	"testing"
	"time"

	"laststand/internal/answers"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

var raceScoring = quiz.Scoring{Preset: quiz.Speed, Points: 100, Penalty: 70, Streak: 10}

var raceTeams = []string{"red", "blue"}

// playRace returns a race of two teams, with all its answers, as if the match had never asked
// some of its questions. The same id plays the same race.
func playRace(t testing.TB, id string, overAt int64, players []string, questionCount int, unasked ...int) playedMatch {
	rng := rand.New(rand.NewPCG(uint64(len(id)), uint64(id[len(id)-1])))
	p := playedMatch{result: duel(id, overAt, players...)}
	r := &p.result
	r.Mode, r.Winner, r.Questions = match.Race, "", questionCount-len(unasked)
	r.Rules = &match.Rules{Scoring: &raceScoring}
	var questions []quiz.DrawnQuestion
	for q := range questionCount {
		questions = append(questions, quiz.DrawnQuestion{Question: testQuestion(q % 5)})
		r.Rules.LimitsMS, r.Rules.Multipliers = append(r.Rules.LimitsMS, int64(10_000+1000*q)), append(r.Rules.Multipliers, int64(1+q%2))
	}
	scores := map[string]int64{}
	for i := range players {
		if i%answers.BlockPlayers == 0 {
			p.blocks = append(p.blocks, answers.Block{Game: game, Match: id, OverAt: overAt, Index: i / answers.BlockPlayers})
		}
		s := match.Standing{Player: players[i], Nickname: "Nick " + players[i], Team: raceTeams[i%2], HasLeft: rng.IntN(10) == 0}
		block := &p.blocks[i/answers.BlockPlayers]
		block.Answers = append(block.Answers, playSeat(t, rng, r.Rules, i, questions, &s, unasked)...)
		scores[s.Team] += s.Score
		r.Standings[i] = s
	}
	for _, team := range raceTeams {
		r.Teams = append(r.Teams, match.TeamResult{ID: team, Name: team, Score: scores[team]})
	}
	slices.SortStableFunc(r.Teams, func(a, b match.TeamResult) int { return cmp.Compare(b.Score, a.Score) })
	for i := range r.Teams {
		r.Teams[i].Rank = i + 1
	}
	p.blocks[0].Questions = questions
	p.setRanks()
	return p
}

// playSeat plays the questions for one player and returns the answers.
func playSeat(t testing.TB, rng *rand.Rand, rules *match.Rules, index int, questions []quiz.DrawnQuestion, s *match.Standing, unasked []int) (all []answers.Answer) {
	streak := int64(0)
	for number, question := range questions {
		isAnswered, choice, elapsed := rng.IntN(8) > 0, rng.IntN(2), rng.Int64N(9000)
		isUnasked := slices.Contains(unasked, number)
		limit, multiplier := rules.LimitsMS[number], rules.Multipliers[number]
		answer := answers.Answer{Player: index, Question: number, Given: &protocol.Given{Choice: &choice}, ElapsedMS: elapsed, ArrivedAt: 1000 + elapsed, Retracted: isUnasked}
		base, isRight := raceScoring.Base(question, quiz.Answered{Normalized: testenv.Need(question.Normalize(protocol.Given{Choice: &choice}))(t), ElapsedMS: elapsed, LimitMS: limit, Multiplier: multiplier})
		answer.Correct = isRight
		if isUnasked {
			if isAnswered {
				all = append(all, answer)
			}
			continue
		}
		s.Asked++
		s.LimitMS += limit
		s.TimeMS += limit
		if !isAnswered || !isRight {
			streak = 0
		}
		if !isAnswered {
			continue
		}
		if isRight {
			base += raceScoring.Streak * min(streak, 5) * multiplier
			streak++
			s.Correct++
			s.TimeMS -= limit - elapsed
		}
		answer.Points = max(base, -s.Score)
		s.Score += answer.Points
		s.Answered++
		all = append(all, answer)
	}
	return all
}

// setRanks sets the ranks of standings, whose order stays.
func (p *playedMatch) setRanks() {
	all := p.result.Standings
	isBetter := func(a, b match.Standing) bool {
		if a.HasLeft != b.HasLeft {
			return b.HasLeft
		}
		return a.Score > b.Score || a.Score == b.Score && a.TimeMS < b.TimeMS
	}
	for i := range all {
		all[i].Rank = 1
		for _, other := range all {
			if isBetter(other, all[i]) {
				all[i].Rank++
			}
		}
	}
}

func makeVoid(t *testing.T, l *Ledger, id string, question int) (isNew bool) {
	t.Helper()
	return testenv.Need(l.Corrections.MakeVoid(t.Context(), answers.Void{Game: game, Match: id, Question: question, Reason: "two right answers", By: "op_1"}))(t)
}

// checkRace checks that the ledger shows a match as it was played without its void questions.
func checkRace(t *testing.T, l *Ledger, want playedMatch) {
	t.Helper()
	m := testenv.Need(l.Answers.Match(t.Context(), game, want.result.Match))(t)
	if m.Summary.Questions != want.result.Questions || !reflect.DeepEqual(m.Summary.Teams, want.result.Teams) {
		t.Errorf("summary %+v, want %d questions, teams %+v", m.Summary, want.result.Questions, want.result.Teams)
	}
	views := wantStandings(want.result, "p000")
	slices.SortStableFunc(views, func(a, b protocol.OverStanding) int { return cmp.Compare(a.Rank, b.Rank) })
	if got := standingsOf(t, l, want.result.Match); !reflect.DeepEqual(got, views) {
		t.Errorf("standings\n%+v, want\n%+v", got, views)
	}
	byPlayer := map[string][]answers.Answer{}
	for _, answer := range want.all() {
		id := want.result.Standings[answer.Player].Player
		byPlayer[id] = append(byPlayer[id], answer)
	}
	seen := 0
	err := l.Answers.EachPlayer(t.Context(), m, 0, m.Summary.Players, func(p answers.PlayerAnswers) error {
		if p.Standing.Player != views[seen].Player {
			t.Errorf("player %s at place %d, want %s", p.Standing.Player, seen, views[seen].Player)
		}
		seen++
		for i, got := range p.Answers {
			wanted := byPlayer[p.Standing.Player][i]
			if got.Retracted != wanted.Retracted || got.Question != wanted.Question || !got.Retracted && got.Points != wanted.Points {
				t.Errorf("answer %+v of %s, want %+v", got, p.Standing.Player, wanted)
			}
		}
		return nil
	})
	if err != nil || seen != len(views) {
		t.Errorf("%d players, %v", seen, err)
	}
}

// openRaceLedger opens a ledger whose clock is at the first day. Player p000 exists.
func openRaceLedger(t *testing.T, db testenv.SQL) clockLedger {
	t.Helper()
	l := openWithClock(t, db, time.UTC)
	l.Days.sumPageSize = 3
	addPlayer(t, l.Ledger, "p000")
	return l
}

// After a question has become void, standings, teams, points, totals and the sums from which
// leaderboards are built equal those of a ledger whose match has never asked the question. This
// holds for the current day, for an ended day, and for a day that is summed in part or whole.
func TestAVoidQuestionEqualsOneThatWasNeverAsked(t *testing.T) {
	t.Parallel()
	for name, pages := range map[string]int{"open": -1, "sealed": 0, "half summed": 2, "summed": 1000} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
				t.Parallel()
				l, players := openRaceLedger(t, db), names("p", 230)
				playRace(t, "m1", 5, players, 6).commit(t, l.Ledger)
				playRace(t, "m2", 6, players[:7], 4).commit(t, l.Ledger)
				if pages >= 0 {
					l.setClock(t, dayMS)
					testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
				}
				for range pages {
					if d, over, err := l.Days.nextUnsummed(t.Context(), game); err == nil && over {
						testenv.Need(l.Days.sumNextPage(t.Context(), d))(t)
					}
				}
				before, version := readHead(t, l.Ledger), testenv.Need(l.Leaderboards.DayVersion(t.Context(), game, "1970-01-01"))(t)
				if !makeVoid(t, l.Ledger, "m1", 2) || !makeVoid(t, l.Ledger, "m1", 0) || makeVoid(t, l.Ledger, "m1", 2) {
					t.Error("a question became void twice, or never")
				}
				want := playRace(t, "m1", 5, players, 6, 2, 0)
				checkRace(t, l.Ledger, want)
				if got := readHead(t, l.Ledger).Pos - before.Pos; got != 2*232 {
					t.Errorf("%d corrections, want one for each player and team and question", got)
				}
				if testenv.Need(l.Leaderboards.DayVersion(t.Context(), game, "1970-01-01"))(t) == version {
					t.Error("the day has the same version, so old rankings stay in use")
				}
				checkSums(t, l.Ledger)
				testenv.Need(l.Days.SumDays(t.Context(), game))(t)
				checkSums(t, l.Ledger)
				wantSums, wantTotals := sumsWithout(t, want, players)
				if got := readSnapshot(t, l.Ledger); !reflect.DeepEqual(got, wantSums) {
					t.Errorf("sums\n%+v, want\n%+v", got, wantSums)
				}
				if got := testenv.Need(l.Players.Player(t.Context(), game, "p000"))(t).Totals; got != wantTotals {
					t.Errorf("totals %+v, want %+v", got, wantTotals)
				}
			})
		})
	}
}

// sumsWithout returns the sums of a new ledger that has only seen the race without its void
// questions, and the totals of p000.
func sumsWithout(t *testing.T, race playedMatch, players []string) ([]leaderboard.DaySum, leaderboard.Aggregates) {
	t.Helper()
	l := openRaceLedger(t, testenv.SQL{Dir: t.TempDir()})
	race.commit(t, l.Ledger)
	playRace(t, "m2", 6, players[:7], 4).commit(t, l.Ledger)
	return readSnapshot(t, l.Ledger), testenv.Need(l.Players.Player(t.Context(), game, "p000"))(t).Totals
}

// Views apply corrections one after the other. After each of them no value is below 0, and
// together they lead to the sums.
func TestViewsFollowAVoidQuestionEntryByEntry(t *testing.T) {
	t.Parallel()
	l := openRaceLedger(t, testenv.SQL{Dir: t.TempDir()})
	playRace(t, "m1", 5, names("p", 120), 6).commit(t, l.Ledger)
	makeVoid(t, l.Ledger, "m1", 1)
	values, newest := map[string]leaderboard.Aggregates{}, map[string]int64{}
	for _, row := range testenv.Need(l.Leaderboards.ReadRows(t.Context(), game, 0, 10_000))(t) {
		key := string(row.HolderKind) + row.Holder
		values[key] = values[key].Add(row.Aggregates)
		if newest[key] = row.Newest; row.Kind == leaderboard.ResultRow {
			newest[key] = row.Pos
		} else if row.Kind == leaderboard.CorrectionRow && (row.NewestOfTargetDay != row.Newest || row.TargetDay != "1970-01-01") {
			t.Errorf("row %+v", row)
		}
		if v := values[key]; min(v.Score, v.TimeMS, v.LimitMS, v.Asked, v.Answered, v.Correct) < 0 {
			t.Errorf("after row %+v: %+v", row, v)
		}
	}
	for _, sum := range readSnapshot(t, l.Ledger) {
		if key := string(sum.HolderKind) + sum.Holder; values[key] != sum.Aggregates || newest[key] != sum.Newest {
			t.Errorf("sum %+v, the rows say %+v and newest %d", sum, values[key], newest[key])
		}
	}
}

// Disqualified results stay without effect, and a result that has changed can be disqualified.
func TestVoidQuestionsAndDisqualifiedPlayers(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, players := openRaceLedger(t, db), names("p", 10)
		playRace(t, "m1", 5, players, 6).commit(t, l.Ledger)
		playRace(t, "m2", 6, players[:2], 4).commit(t, l.Ledger)
		disqualify(t, l.Ledger, "m1", "p000")
		makeVoid(t, l.Ledger, "m1", 1)
		checkRace(t, l.Ledger, playRace(t, "m1", 5, players, 6, 1))
		disqualify(t, l.Ledger, "m1", "p001")
		checkSums(t, l.Ledger)
		disqualify(t, l.Ledger, "m1", "")
		checkSums(t, l.Ledger)
		makeVoid(t, l.Ledger, "m1", 2)
		for _, sum := range readSnapshot(t, l.Ledger) {
			if sum.Aggregates.Matches != 1 || sum.Aggregates.Asked != 4 && sum.HolderKind == leaderboard.Players {
				t.Errorf("left %+v", sum)
			}
		}
		checkSums(t, l.Ledger)
	})
}

// A player who was erased, before or after, keeps points under the opaque id.
func TestVoidQuestionsAndErasedPlayers(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, players := openRaceLedger(t, db), append(names("p", 5), erasedSubjectID)
		addPlayer(t, l.Ledger, erasedSubjectID)
		playRace(t, "m1", 5, players, 6).commit(t, l.Ledger)
		makeVoid(t, l.Ledger, "m1", 3)
		testenv.NoError(t, l.Accounts.Erase(t.Context(), game, erasedSubjectID))
		for found := true; found; {
			found = testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t)
		}
		makeVoid(t, l.Ledger, "m1", 0)
		for _, s := range standingsOf(t, l.Ledger, "m1") {
			if !slices.Contains(players, s.Player) {
				players[5] = s.Player
			}
		}
		checkRace(t, l.Ledger, playRace(t, "m1", 5, players, 6, 0, 3))
		checkSums(t, l.Ledger)
		if found := rowsWith(t, l.Ledger, erasedSubjectID); found != nil {
			t.Errorf("the erased id is in %q", found)
		}
	})
}

// Nodes make questions void while others commit, sum and disqualify. Each question becomes void
// once, in any order.
func TestConcurrentVoidsOfAllQuestions(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, players := openRaceLedger(t, db), names("p", 20)
		playRace(t, "m1", 5, players, 6).commit(t, l.Ledger)
		l.setClock(t, dayMS)
		testenv.Need(l.Days.StartNewDays(t.Context(), game))(t)
		newVoids := make([]int, 4)
		runConcurrently(6, func(n int) {
			for i := range 6 {
				var err error
				switch {
				case n < 4:
					var isNew bool
					if isNew, err = l.Corrections.MakeVoid(t.Context(), answers.Void{Game: game, Match: "m1", Question: (i*(n+1) + n) % 5}); isNew {
						newVoids[n]++
					}
				case n == 4:
					_, err = l.Results.Commit(t.Context(), results(playRace(t, fmt.Sprint("new", i), 9, players[:4], 4).result))
				default:
					_, err = l.Days.SumDays(t.Context(), game)
				}
				if err != nil {
					t.Error(err)
				}
			}
		})
		m := testenv.Need(l.History.Match(t.Context(), game, "m1"))(t)
		if got := newVoids[0] + newVoids[1] + newVoids[2] + newVoids[3]; got != len(m.Voided) || m.Questions != 6-got {
			t.Errorf("%d new voids, summary %+v", got, m)
		}
		checkRace(t, l.Ledger, playRace(t, "m1", 5, players, 6, m.Voided...))
		checkSums(t, l.Ledger)
	})
}

// A first right answer to a void question of a buzzer match does not count. A bot's standing
// follows too, and in a forfeited duel the ranks stay.
func TestVoidQuestionsOfBuzzerMatchesAndDuels(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openRaceLedger(t, db)
		buzzer := firstsMatch("m1", match.Buzzer, "p000", "p001")
		buzzer.result.Teams = []match.TeamResult{{Rank: 1, ID: "red", Score: 2}, {Rank: 2, ID: "blue", Score: 1}}
		buzzer.result.Firsts = []match.First{{Question: 0, Player: "p000", Team: "red"}, {Question: 1, Player: "p001", Team: "blue"}, {Question: 2, Player: "p000", Team: "red"}}
		bots := firstsMatch("m2", match.Duel, "p000", "robot")
		bots.result.CountsForLeaderboards, bots.result.Standings[1].Bot = false, true
		forfeited := firstsMatch("m3", match.Duel, "p001", "p000")
		forfeited.result.Reason = match.ReasonForfeit
		slices.Reverse(forfeited.result.Standings)
		forfeited.blocks[0].Answers = nil
		for i := range forfeited.result.Standings {
			s := &forfeited.result.Standings[i]
			s.Rank, s.Score, s.Correct, s.Answered, s.TimeMS = i+1, 0, 0, 0, s.LimitMS
		}
		for _, p := range []playedMatch{buzzer, bots, forfeited} {
			p.commit(t, l.Ledger)
			makeVoid(t, l.Ledger, p.result.Match, 0)
			makeVoid(t, l.Ledger, p.result.Match, 2)
		}
		m := testenv.Need(l.History.Match(t.Context(), game, "m1"))(t)
		if want := []match.TeamResult{{Rank: 1, ID: "blue", Score: 1}, {Rank: 2, ID: "red"}}; !reflect.DeepEqual(m.Teams, want) || len(m.Firsts) != 1 || m.Firsts[0].Player != "p001" {
			t.Errorf("teams %+v, firsts %+v", m.Teams, m.Firsts)
		}
		for id, want := range map[string]string{"m1": "p001 1 100, p000 2 0, ", "m2": "robot 1 100, p000 2 0, ", "m3": "p000 1 0, p001 2 0, "} {
			got := ""
			for _, s := range standingsOf(t, l.Ledger, id) {
				got += fmt.Sprint(s.Player, " ", s.Rank, " ", s.Score, ", ")
			}
			if got != want {
				t.Errorf("match %s: %s, want %s", id, got, want)
			}
		}
		checkSums(t, l.Ledger)
	})
}

// firstsMatch returns a match in which the first player answers questions 0 and 2 right, and
// the other one question 1.
func firstsMatch(id string, mode match.Mode, players ...string) playedMatch {
	p := playedMatch{result: duel(id, 5, players...), blocks: []answers.Block{{Game: game, Match: id, OverAt: 5, Questions: []quiz.DrawnQuestion{{Question: testQuestion(0)}, {Question: testQuestion(1)}, {Question: testQuestion(2)}}}}}
	p.result.Mode, p.result.Questions, p.result.Rules = mode, 3, &match.Rules{LimitMS: 10_000, Scoring: &quiz.BuzzerScoring}
	for i := range p.result.Standings {
		s := &p.result.Standings[i]
		s.Team, s.Asked, s.LimitMS = raceTeams[i], 3, 30_000
		s.Correct = 2 - i
		s.Answered, s.Score, s.TimeMS = s.Correct, int64(100*s.Correct), int64(30_000-9000*s.Correct)
	}
	for question, player := range []int{0, 1, 0} {
		p.blocks[0].Answers = append(p.blocks[0].Answers, answers.Answer{Player: player, Question: question, Given: &protocol.Given{Choice: new(1)}, Correct: true, ElapsedMS: 1000, Points: 100, ArrivedAt: 2000})
	}
	return p
}

// A match that cannot be counted again exactly does not change, and the error says why.
func TestVoidsThatAreRefusedChangeNothing(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, players := openRaceLedger(t, db), names("p", 230)
		playRace(t, "m1", 5, players, 6).commit(t, l.Ledger)
		survival, early, half, lost := playRace(t, "m2", 5, players, 6), playRace(t, "m3", 5, players, 6), playRace(t, "m4", 5, players, 6), playRace(t, "m5", 5, players, 6)
		malformed := playRace(t, "m7", 5, players, 6)
		survival.result.Mode, early.result.Rules = match.Survival, nil
		half.blocks = half.blocks[:2]
		lost.blocks[1].Answers = lost.blocks[1].Answers[1:]
		for _, p := range []playedMatch{survival, early, half, lost, malformed} {
			p.commit(t, l.Ledger)
		}
		testenv.Need(l.Results.Commit(t.Context(), results(playRace(t, "m6", 5, players, 6).result)))(t)
		testenv.Need(l.exec(t.Context(), "UPDATE answers SET texts = '[' WHERE match_id = 'm7' AND block = 1"))(t)
		before := readHead(t, l.Ledger)
		for _, c := range []struct {
			match    string
			question int
			now      int64
			maxAge   time.Duration
			want     error
		}{
			{"m9", 0, 0, 0, match.ErrNotFound}, {"m1", 6, 0, 0, answers.ErrNoQuestion}, {"m1", -1, 0, 0, answers.ErrNoQuestion},
			{"m2", 0, 0, 0, answers.ErrNotRecountable}, {"m3", 0, 0, 0, answers.ErrNotRecountable},
			{"m4", 0, 0, 0, answers.ErrOnTheWay}, {"m5", 0, 0, 0, answers.ErrOnTheWay}, {"m6", 0, 0, 0, answers.ErrOnTheWay},
			{"m7", 0, 0, 0, answers.ErrNotStored}, {"m4", 0, 3 * dayMS, 0, answers.ErrNotStored}, {"m1", 0, 3_600_006, time.Hour, answers.ErrTooOld},
		} {
			l.setClock(t, c.now)
			if _, err := l.Corrections.MakeVoid(t.Context(), answers.Void{Game: game, Match: c.match, Question: c.question, MaxAge: c.maxAge}); !errors.Is(err, c.want) {
				t.Errorf("question %d of %s: %v, want %v", c.question, c.match, err, c.want)
			}
		}
		if head := readHead(t, l.Ledger); head != before {
			t.Errorf("head %+v, before %+v", head, before)
		}
		if voids := testenv.Need(getValue[int](t.Context(), l.database, "SELECT COUNT(*) FROM voids"))(t); voids != 0 {
			t.Errorf("%d voids", voids)
		}
	})
}
