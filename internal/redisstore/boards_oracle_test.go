package redisstore_test

import (
	"database/sql"
	"fmt"
	"strings"

	_ "modernc.org/sqlite"

	lb "laststand/internal/leaderboard"
)

// oracle computes boards in plain SQL, by the rules of the wire contract, from the
// uncorrected results of a ledger.
type oracle struct {
	cfg lb.Config
	db  *sql.DB
}

const oracleSchema = `CREATE TABLE results (
	pos INTEGER PRIMARY KEY, committed_at INTEGER, day TEXT, holder_kind TEXT, holder TEXT, score INTEGER, time_ms INTEGER,
	limit_ms INTEGER, matches INTEGER, asked INTEGER, answered INTEGER, correct INTEGER,
	corrected INTEGER NOT NULL DEFAULT 0)` // commit time of its correction; 0: not corrected

// The arguments of oracleRanking are the weights of accuracy, speed, score and matches, then
// the kind, the first and the last day, the condition for a rank, and the order.
const oracleRanking = `WITH summed AS (
	SELECT holder, MAX(pos) newest, SUM(score) score, SUM(time_ms) time_ms, SUM(limit_ms) limit_ms,
		SUM(matches) matches, SUM(asked) asked, SUM(answered) answered, SUM(correct) correct
	FROM results WHERE corrected = 0 AND holder_kind = '%[5]s' AND day BETWEEN '%[6]s' AND '%[7]s' GROUP BY holder
), valued AS (
	SELECT *, %[3]d * score + %[4]d * matches + CASE asked WHEN 0 THEN 0 ELSE
		%[1]d * (10000 * correct / asked) + %[2]d * (10000 * (limit_ms - time_ms) / limit_ms) END value,
		CASE asked WHEN 0 THEN 0.0 ELSE (20000 * correct + asked) / (2 * asked) / 10000.0 END accuracy
	FROM summed
)
SELECT RANK() OVER (ORDER BY %[9]s), holder, newest, value, score, time_ms, limit_ms, matches, asked, answered, correct, accuracy
FROM valued WHERE %[8]s ORDER BY %[9]s, newest`

var oracleOrders = map[lb.Order]string{
	lb.ByValue:    "-value",
	lb.ByScore:    "-score",
	lb.ByAccuracy: "-correct * 1.0 / asked",
	lb.ByTime:     "time_ms * 1.0 / asked",
	lb.ByMatches:  "-matches",
}

func newOracle(t failingTest, cfg lb.Config, rows []ledgerRow) *oracle {
	t.Helper()
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	db.SetMaxOpenConns(1)
	reference := &oracle{cfg: cfg, db: db}
	reference.run(t, oracleSchema)
	var results []string
	var corrections []ledgerRow
	for _, row := range rows {
		aggregates := row.Aggregates
		switch row.Kind {
		case lb.ResultRow:
			results = append(results, fmt.Sprintf("(%d,%d,'%s','%s','%s',%d,%d,%d,%d,%d,%d,%d,0)", row.Pos, row.CommittedAt, row.Day, row.HolderKind, row.Holder,
				aggregates.Score, aggregates.TimeMS, aggregates.LimitMS, aggregates.Matches, aggregates.Asked, aggregates.Answered, aggregates.Correct))
		case lb.CorrectionRow:
			corrections = append(corrections, row)
		}
	}
	if len(results) > 0 {
		reference.run(t, "INSERT INTO results VALUES "+strings.Join(results, ","))
	}
	for _, row := range corrections {
		reference.run(t, fmt.Sprintf("UPDATE results SET corrected = %d WHERE pos = %d", row.CommittedAt, row.correctedPos))
	}
	return reference
}

func (o *oracle) run(t failingTest, statement string) {
	t.Helper()
	if _, err := o.db.ExecContext(t.Context(), statement); err != nil {
		t.Fatalf("oracle: %v", err)
	}
}

func (o *oracle) close(t failingTest) {
	t.Helper()
	if err := o.db.Close(); err != nil {
		t.Fatalf("oracle: %v", err)
	}
}

// daySpan is the range of days that a board holds, both included.
type daySpan struct{ from, to string }

// board has all entries of a board: as pages show them, in page order, and as they are
// stored, by id.
type board struct {
	ranking        []lb.Entry
	entries        map[string]lb.BoardEntry
	asOf           int64 // commit time of the newest uncorrected result
	lastCorrection int64 // commit time of the last correction; 0: none
}

func (o *oracle) board(t failingTest, kind lb.Kind, order lb.Order, span daySpan) board {
	t.Helper()
	rankable := "1"
	if order == lb.ByAccuracy || order == lb.ByTime {
		rankable = fmt.Sprintf("asked > 0 AND asked >= %d", o.cfg.MinAnswers)
	}
	weights := o.cfg.Weights
	rows, err := o.db.QueryContext(t.Context(), fmt.Sprintf(oracleRanking,
		weights.Accuracy, weights.Speed, weights.Score, weights.Matches, kind, span.from, span.to, rankable, oracleOrders[order]))
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	defer func() { _ = rows.Close() }() // rows.Err reports read errors
	result := board{ranking: []lb.Entry{}, entries: map[string]lb.BoardEntry{}}
	for rows.Next() {
		var shown lb.Entry
		var entry lb.BoardEntry
		err := rows.Scan(&shown.Rank, &shown.ID, &entry.Newest, &shown.Value, &shown.Score, &shown.TimeMS, &entry.Aggregates.LimitMS,
			&shown.Matches, &shown.Asked, &shown.Answered, &shown.Correct, &shown.Accuracy)
		if err != nil {
			t.Fatalf("oracle: %v", err)
		}
		entry.ID, entry.Aggregates.Score, entry.Aggregates.TimeMS, entry.Aggregates.Matches = shown.ID, shown.Score, shown.TimeMS, shown.Matches
		entry.Aggregates.Asked, entry.Aggregates.Answered, entry.Aggregates.Correct = shown.Asked, shown.Answered, shown.Correct
		result.ranking = append(result.ranking, shown)
		result.entries[entry.ID] = entry
	}
	if err := rows.Err(); err != nil {
		t.Fatalf("oracle: %v", err)
	}
	result.asOf, result.lastCorrection = o.asOf(t, kind, span)
	return result
}

// asOf returns the commit times of the newest uncorrected result and of the last correction;
// 0: none.
func (o *oracle) asOf(t failingTest, kind lb.Kind, span daySpan) (newest, corrected int64) {
	t.Helper()
	err := o.db.QueryRowContext(t.Context(), `SELECT COALESCE(MAX(CASE corrected WHEN 0 THEN committed_at END), 0), COALESCE(MAX(corrected), 0)
		FROM results WHERE holder_kind = ? AND day BETWEEN ? AND ?`, kind, span.from, span.to).Scan(&newest, &corrected)
	if err != nil {
		t.Fatalf("oracle: %v", err)
	}
	return newest, corrected
}
