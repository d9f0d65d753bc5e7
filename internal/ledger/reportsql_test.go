package ledger

import (
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/testenv"
)

// Queries over the tables, without this program's code, find what the reports say, after any
// history of arenas: in all modes, with teams, void questions, retracted answers and erased
// players.
func TestReportsEqualAnIndependentQuery(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l, seed := openLedger(t, db), rand.Uint64()
		t.Logf("seed %d", seed)
		h := &arenaHistory{l, rand.New(rand.NewPCG(seed, 1))}
		players := names("op.", 150)
		for _, id := range players {
			addPlayer(t, l, id)
		}
		var arenas []string
		for i, mode := range []match.Mode{match.Race, match.Survival, match.Buzzer, match.Race, match.Survival, match.Race} {
			arenas = append(arenas, fmt.Sprint("m_", i))
			h.play(t, arenas[i], mode, players[:2+h.rng.IntN(len(players)-1)])
		}
		check := func(when string) {
			t.Helper()
			for _, id := range arenas {
				checkReport(t, l, id, when, h.rng)
			}
		}
		check("at first")
		for _, id := range players[:5] {
			testenv.NoError(t, l.Accounts.Erase(t.Context(), game, id))
		}
		check("after erasures")
		for testenv.Need(l.Accounts.ForgetErased(t.Context(), 0))(t) {
		}
		check("after the answers were erased")
	})
}

// arenaHistory plays random arenas.
type arenaHistory struct {
	ledger *Ledger
	rng    *rand.Rand
}

// play stores an arena, its result and its answers. In survival, question 1 has no right answer.
func (h *arenaHistory) play(t *testing.T, id string, mode match.Mode, players []string) {
	t.Helper()
	numbers := h.rng.Perm(16)[:3+h.rng.IntN(6)]
	p := newPlayedMatch(id, 9_000_000+int64(h.rng.IntN(1000)), players, numbers...)
	p.result.Mode, p.result.ArenaID, p.result.Winner, p.result.CountsForLeaderboards = mode, "a_"+id[2:], "", h.rng.IntN(2) == 0
	if h.rng.IntN(2) == 0 {
		p.result.Teams = []match.TeamResult{{Rank: 1, ID: "red", Name: "Red"}, {Rank: 2, ID: "blue", Name: "Blue"}}
		for i := range p.result.Standings {
			p.result.Standings[i].Team = p.result.Teams[h.rng.IntN(2)].ID
		}
	}
	for _, block := range p.blocks {
		for i := range block.Answers {
			a := &block.Answers[i]
			if mode == match.Survival && a.Question == 1 {
				a.Correct, a.Points = false, 0
			}
			if mode == match.Race && !a.Correct {
				a.Points = -int64(h.rng.IntN(30))
			}
		}
	}
	testenv.NoError(t, h.ledger.Arenas.AddArena(t.Context(), arena.Record{Game: game, Match: id, Host: "hana", Name: "Cup " + id, Mode: mode}))
	p.commit(t, h.ledger)
}

// readReport returns a report with all players, read in random pages.
func readReport(t *testing.T, l *Ledger, id string, rng *rand.Rand) answers.Report {
	t.Helper()
	record := testenv.Need(l.Public.Arenas.Arena(t.Context(), game, id))(t)
	m := testenv.Need(l.Public.Answers.Match(t.Context(), game, id))(t)
	r := answers.NewReport(record, m, testenv.Need(answers.NewSummaries().Questions(t.Context(), l.Public.Answers, m))(t))
	for from := 0; from < m.Summary.Players; {
		to := from + 1 + rng.IntN(120)
		testenv.NoError(t, r.AddPlayers(t.Context(), l.Public.Answers, m, from, to))
		from = to
	}
	return r
}

func checkReport(t *testing.T, l *Ledger, id, when string, rng *rand.Rand) {
	t.Helper()
	r := readReport(t, l, id, rng)
	decode := documentedQuery(t, l)
	for name, check := range map[string]struct {
		query string
		want  []string
	}{
		"questions": {decode + questionsSQL, questionLines(r)},
		"counts":    {decode + countsSQL, countLines(r)},
		"texts":     {strings.ReplaceAll(decode, "a.answers", "a.questions") + textsSQL, textLines(r)},
		"players":   {decode + playersSQL, playerLines(r)},
		"answers":   {decode + answersSQL, answerLines(t, r)},
		"arena":     {arenaSQL, []string{fmt.Sprint(r.Match, "|", r.Name, "|", r.Mode, "|", r.StartedAt, "|", r.OverAt)}},
	} {
		if got := queryLines(t, l, check.query, id); !slices.Equal(got, check.want) {
			i := 0
			for i < len(got) && i < len(check.want) && got[i] == check.want[i] {
				i++
			}
			t.Errorf("%s of %s (%s): SQL has %d rows, the report %d; from row %d SQL has %q, the report %q",
				name, id, when, len(got), len(check.want), i, got[i:min(i+2, len(got))], check.want[i:min(i+2, len(check.want))])
		}
	}
}

// The queries follow the decoded answers of match $1. Each returns one text per row.
const (
	// countedSQL has the answers that count.
	countedSQL = `, voids AS (
    SELECT d.question FROM decoded d WHERE d.retracted = 0 AND EXISTS (SELECT 1 FROM arenas a WHERE a.match_id = $1 AND a.mode = 'survival')
    GROUP BY d.question HAVING SUM(d.correct) = 0
), counted AS (SELECT * FROM decoded WHERE retracted = 0 AND question NOT IN (SELECT question FROM voids))`

	questionsSQL = countedSQL + `
SELECT question || '|' || COUNT(*) || '|' || SUM(correct) || '|' || ((20000 * CAST(SUM(correct) AS BIGINT) + COUNT(*)) / (2 * COUNT(*)))
    || '|' || ((2 * CAST(SUM(elapsed_ms) AS BIGINT) + COUNT(*)) / (2 * COUNT(*)))
FROM counted GROUP BY question ORDER BY question`

	// countsSQL has only choices that were chosen.
	countsSQL = countedSQL + `, places (place) AS (SELECT 0 UNION ALL SELECT place + 1 FROM places WHERE place < 7)
SELECT question || '|' || place || '|' || COUNT(*) FROM counted JOIN places
ON kind = 1 AND value = place OR kind = 2 AND (value >> place) & 1 = 1 GROUP BY question, place ORDER BY question, place`

	textsSQL = `
SELECT (b.n / 2) || '|' || {json:q.question:id} || '|' || {json:q.question:kind} || '|' || {json:q.question:text}
FROM bytes b JOIN asked_questions q ON q.id = b.value WHERE b.block = 0 AND b.is_last = 1 AND b.n >= 0 AND b.n % 2 = 0 ORDER BY b.n`

	playersSQL = `
SELECT s.player || '|' || COALESCE(p.nickname, '') || '|' || s.team || '|' || s.rank || '|' || s.score || '|' || s.correct || '|' || s.time_ms
FROM seats s LEFT JOIN players p ON p.game = s.game AND p.id = s.player WHERE s.match_id = $1 ORDER BY s.standing_index`

	answersSQL = `
SELECT s.player || '|' || d.question || '|' || d.kind || '|' || CASE WHEN d.kind = 3 THEN {json_at:a.texts:d.value} ELSE CAST(d.value AS TEXT) END
    || '|' || d.correct || '|' || d.elapsed_ms || '|' || d.points
FROM decoded d JOIN seats s ON s.match_id = $1 AND s.standing_index = d.standing_index
JOIN answers a ON a.match_id = $1 AND a.block = d.standing_index / 100
WHERE d.retracted = 0 ORDER BY d.standing_index, d.question`

	arenaSQL = `
SELECT a.match_id || '|' || a.name || '|' || a.mode || '|' || {json:m.summary:started_at} || '|' || {json:m.summary:over_at}
FROM arenas a JOIN matches m ON m.game = a.game AND m.id = a.match_id WHERE a.match_id = $1`
)

// queryLines returns the rows of a query whose JSON functions depend on the database.
func queryLines(t *testing.T, l *Ledger, query, id string) []string {
	t.Helper()
	for _, column := range []string{"q.question:id", "q.question:kind", "q.question:text", "m.summary:started_at", "m.summary:over_at"} {
		name, key, _ := strings.Cut(column, ":")
		replacement := "CAST(" + name + " AS json) ->> '" + key + "'"
		if l.name == goose.DialectSQLite3 {
			replacement = name + " ->> '$." + key + "'"
		}
		query = strings.ReplaceAll(query, "{json:"+column+"}", "("+replacement+")")
	}
	at := "CAST(CAST(a.texts AS json) -> CAST(d.value AS INTEGER) AS TEXT)"
	if l.name == goose.DialectSQLite3 {
		at = "(a.texts -> CAST(d.value AS INTEGER))"
	}
	lines, err := list(t.Context(), l.database, itself[string], strings.ReplaceAll(query, "{json_at:a.texts:d.value}", at), id)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return lines
}

// questionLines has the questions with answers that count.
func questionLines(r answers.Report) (lines []string) {
	for _, q := range r.Questions {
		if q.Answered > 0 {
			lines = append(lines, fmt.Sprint(q.Question, "|", q.Answered, "|", q.Right, "|", math.Round(q.Facility*10_000), "|", q.MeanMS))
		}
	}
	return lines
}

func countLines(r answers.Report) (lines []string) {
	for _, q := range r.Questions {
		for choice, n := range q.Counts {
			if n > 0 {
				lines = append(lines, fmt.Sprint(q.Question, "|", choice, "|", n))
			}
		}
	}
	return lines
}

func textLines(r answers.Report) (lines []string) {
	for _, q := range r.Questions {
		lines = append(lines, fmt.Sprint(q.Question, "|", q.ID, "|", q.Kind, "|", q.Text))
	}
	return lines
}

func playerLines(r answers.Report) (lines []string) {
	for _, p := range r.Players {
		lines = append(lines, fmt.Sprintf("%s|%s|%s|%d|%d|%d|%d", p.Player, p.Nickname, p.Team, p.Rank, p.Score, p.Correct, p.TimeMS))
	}
	return lines
}

func answerLines(t *testing.T, r answers.Report) (lines []string) {
	t.Helper()
	for _, p := range r.Players {
		if len(p.Answers) != len(r.Questions) {
			t.Errorf("%s has %d answers", p.Player, len(p.Answers))
		}
		for _, a := range p.Answers {
			if a.ElapsedMS == nil {
				continue
			}
			correct := 0
			if a.Correct {
				correct = 1
			}
			lines = append(lines, fmt.Sprintf("%s|%d|%s|%d|%d|%d", p.Player, a.Question, givenLine(a.Given), correct, *a.ElapsedMS, a.Points))
		}
	}
	return lines
}

// givenLine returns the kind and the value of a given answer.
func givenLine(given *protocol.Given) string {
	switch {
	case given == nil:
		return "0|0"
	case given.Choice != nil:
		return fmt.Sprint("1|", *given.Choice)
	case given.Value != nil:
		return "3|" + string(given.Value)
	}
	set := 0
	for _, choice := range given.Choices {
		set |= 1 << choice
	}
	return fmt.Sprint("2|", set)
}

var _ answers.ReportSource = (*Answers)(nil)
