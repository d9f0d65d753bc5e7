package ledger

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/identity"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// Frequent statements find their rows by an index, however large the tables are.
func TestFrequentStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	statements := map[string]statement{
		"player by id":          {selectPlayerByID, []any{"g", "p"}},
		"seat":                  {selectSeat, []any{"g", "p"}},
		"player by device":      {selectPlayerByDevice, []any{"g", "d"}},
		"rename":                {renamePlayer, []any{"g", "p", "n", "s"}},
		"nickname taken":        {nicknameTaken, []any{"g", "s"}},
		"nicknames":             {selectNicknames, []any{"g", idList{"p", "q"}}},
		"skeletons":             {selectSkeletons, []any{"g", "s", 10}},
		"names of late":         {selectNamedBetween, []any{1, "g", "s", 2, 10}},
		"counted names":         {countNames, []any{"g"}},
		"keys":                  {selectKeys, []any{"g"}},
		"account":               {selectAccount, []any{"g", "s", "h"}},
		"erased subject":        {selectIsErased, []any{"g", "h"}},
		"opaque id":             {selectOpaque, []any{"g", "s", "h"}},
		"own or guest":          {selectIsOwnAccount, []any{"g", "p"}},
		"delete subject":        {deleteSubject, []any{"g", "s"}},
		"rename entries":        {renameEntries, []any{"g", "s", "o"}},
		"rename sums":           {renameSums, []any{"g", "s", "o"}},
		"rename seats":          {renameSeats, []any{"g", "s", "o"}},
		"rename firsts":         {renameFirsts, []any{"g", "s", "o"}},
		"old erasure":           {lockOldErasure, []any{1}},
		"days of a player":      {selectPlayerDays, []any{"g", "s"}},
		"versions":              {updateDayVersionsFrom, []any{"g", "d", 1}},
		"guest's account":       {selectLinkedAccount, []any{"g", "p"}},
		"move account":          {moveAccount, []any{"g", "s", "p"}},
		"has results":           {selectHasSeat, []any{"g", "p"}},
		"ratings":               {selectRatings, []any{"g", idList{"p", "q"}}},
		"delete player":         {deletePlayer, []any{"g", "p"}},
		"revision":              {selectRevision, nil},
		"revocations":           {selectRevocationsSince, []any{1, 10}},
		"revocations of a game": {selectRevocationsOfGame, []any{"g", 1, "ban", 10}},
		"end a revocation":      {endRevocation, []any{"g", "ban", "p", 1, "by", 2}},
		"ended revocations":     {deleteOldRevocations, []any{1}},
		"delete a key":          {deleteKey, []any{"g", "k"}},
		"questions":             {selectQuestions, []any{"b"}},
		"today":                 {selectToday, []any{"g"}},
		"head":                  {selectHead, []any{"g"}},
		"hold head":             {lockHeadStatement, []any{"g"}},
		"move head":             {updateHead, []any{"g", 1, "d", "d"}},
		"rows":                  {selectEntries, []any{"g", 1, 10}},
		"history":               {selectPlayed, []any{"g", "p", 1, "m", 10}},
		"match":                 {selectMatch, []any{"g", "m"}},
		"standings":             {selectStandings, []any{"g", "m", 0, 50}},
		"standings by rank":     {selectByRank, []any{"g", "m", 0, 50}},
		"recounted standings":   {selectRecounted, []any{"g", "m"}},
		"recounted standing":    {updateSeat, []any{"g", "m", 1, 1, 1, 1, 1, 1, 1}},
		"match to recount":      {lockMatch, []any{"g", "m"}},
		"one seat":              {selectOneSeat, []any{"g", "m", "p"}},
		"team names":            {selectTeamNames, []any{"g", idList{"t", "u"}}},
		"known matches":         {selectKnown, []any{"g", "m"}},
		"recorded match":        {updateMatch, []any{"g", "m", "r"}},
		"pairs met":             {selectPairDuels, []any{"g", "d", "p", "q"}},
		"pair's duels":          {selectDuels, []any{"g", "d", "p", "q"}},
		"forgotten pairs":       {deletePairs, []any{"g", "d", 10}},
		"player's entry":        {selectPlayerEntry, []any{"g", "p", "m"}},
		"match's entries":       {selectMatchEntries, []any{"g", "m", 1, 10}},
		"remaining":             {selectNewestRemaining, []any{"g", 1, "player", "p", 1, 10}},
		"day's version":         {updateDayVersion, []any{"g", "d", 1}},
		"correct sums":          {correctSums, []any{"g", "player", "p", "d", 1, 1, 1, 1, 1, 1, 1, 1}},
		"empty sums":            {deleteEmptySums, []any{"g", "player", "p", "d"}},
		"version":               {selectVersion, []any{"g", "d"}},
		"day":                   {selectDay, []any{"g", "d"}},
		"day to sum":            {selectUnsummed, []any{"g"}},
		"first unsummed":        {selectFirstUnsummed, []any{"g"}},
		"page summed":           {updateSummedTo, []any{"g", "d", 1, 1, 1}},
		"add sums":              {addSums, []any{"g", 1, 10}},
		"day's sums":            {selectDaySums, []any{"g", "d", "player"}},
		"day's rows":            {computeDaySums, []any{"g", 1, 10, "player"}},
		"snapshot":              {selectSums, []any{"g", "d", 1}},
		"holders":               {selectHolders, []any{"g", "player", "p", 10}},
		"holders' sums":         {selectSumsUpTo, []any{"g", "player", "p", 10}},
		"done tasks":            taskPage(taskqueue.Filter{State: taskqueue.StateDone}),
		"keeping":               {lockMaintenance, nil},
		"queues":                {strings.Replace(selectQueues, "{chosen}", "", 1), []any{"t", 1, 10}},
		"busy queues":           {strings.Replace(selectQueues, "{chosen}", " AND "+busyQueue, 1), []any{"t", 1, 10}},
		"queues of a kind":      {strings.Replace(selectQueues, "{chosen}", " AND q.kind = $4", 1), []any{"t", 1, 10, "k"}},
		"queues of a topic":     {strings.Replace(selectQueues, "{chosen}", " AND q.topic = $4", 1), []any{"t", 1, 10, "t"}},
		"backlogs":              {selectBacklogs, []any{10, 10}},
		"disable endpoint":      {insertDisabled, []any{"g", "e", "w"}},
		"enable endpoint":       {deleteDisabled, []any{"g", "e"}},
		"counted tasks":         {selectCounts, []any{"t", 10}},
		"end audit entry":       {endAudit, []any{"a", 200}},
		"forget audit":          {deleteOldAudit, []any{1, 10}},
		"audit":                 auditPage(identity.AuditFilter{}),
		"audit of a game":       auditPage(identity.AuditFilter{Game: "g"}),
		"audit of actor":        auditPage(identity.AuditFilter{Actor: "ops"}),
		"player by name":        {selectPlayerBySkeleton, []any{"g", "s"}},
		"seats of a match":      {selectSeats, []any{"g", "m"}},
		"a seat":                {selectSeatOf, []any{"g", "p", 1, "m"}},
		"blocks of answers":     {selectBlocks, []any{"g", 1, "m", 0, 1}},
		"asked questions":       {selectAsked, []any{"g", "h"}},
		"erased seats":          {selectErasedSeats, []any{"g", "p", 1, "m", 10}},
		"erased block":          {lockBlock, []any{"g", 1, "m", 0}},
		"erase in block":        {updateBlock, []any{"g", 1, "m", 0, []byte{}, "[]"}},
		"old answers":           {deleteAnswers, []any{"g", 1, 10}},
		"old questions":         {deleteAsked, []any{"g", 1, 10}},
		"old matches":           {selectOldMatches, []any{"g", 1, 10}},
		"seats of old match":    {deleteSeats, []any{"g", "m", 10}},
		"delete match":          {deleteMatch, []any{"g", "m"}},
		"arena":                 {selectArena, []any{"g", "m"}},
		"arenas of a host":      {selectArenasOf, []any{"g", "h", 1, "m", 10}},
		"erase host":            {eraseHost, []any{"g", "h"}},
		"move arenas":           {moveArenas, []any{"g", "h", "p"}},
		"old arenas":            {deleteArenas, []any{"g", 1, 10}},
		"asked questions by id": {selectAskedByID, []any{int64(1)}},
		"update player":         {updatePlayer, []any{"g", "p", "r", int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1), int64(1)}},
	}
	testenv.EachSQL(t, func(t *testing.T, db testenv.SQL) {
		l := openLedger(t, db)
		for name, s := range statements {
			plan := l.explain(t, s.text, s.args)
			if bad := tableScan(l.name, plan); bad != "" {
				t.Errorf("%s reads a whole table: %s\n%s", name, bad, plan)
			}
		}
		for name, column := range map[string]string{
			"old answers": "over_at", "old questions": "asked_at", "old matches": "over_at", "old arenas": "created_at", "forget audit": "at", "old erasure": "erased_at",
		} {
			if plan := l.explain(t, statements[name].text, statements[name].args); !hasBound(l.name, plan, column) {
				t.Errorf("%s reads rows that are not old:\n%s", name, plan)
			}
		}
		if plan := l.explain(t, "SELECT pos FROM entries WHERE match_id = $1", []any{"m"}); tableScan(l.name, plan) == "" {
			t.Errorf("tableScan did not find the scan in:\n%s", plan)
		}
	})
}

// statement is an SQL statement with its arguments.
type statement struct {
	text string
	args []any
}

// idList is a list of ids as one parameter of a statement.
type idList []string

func taskPage(f taskqueue.Filter) statement {
	chosen, args := taskCondition(f, []any{"t", 10})
	return statement{strings.Replace(selectTasks, "{chosen}", chosen, 1), args}
}

func auditPage(f identity.AuditFilter) statement {
	chosen, args := andEqual([]any{1, "a", 10}, columnValue{"game", f.Game}, columnValue{"actor", f.Actor})
	return statement{strings.Replace(selectAudit, "{chosen}", chosen, 1), args}
}

// explain returns the database's plan for a statement.
func (l *Ledger) explain(t *testing.T, text string, args []any) string {
	t.Helper()
	var plan strings.Builder
	args = slices.Clone(args)
	for i, a := range args {
		if list, ok := a.(idList); ok {
			args[i] = l.idList(list)
		}
	}
	err := l.inTx(t.Context(), func(tx *transaction) error {
		attempt, columns := "EXPLAIN QUERY PLAN ", 4
		if l.name == goose.DialectPostgres {
			// The planner would scan empty tables, because they are small.
			tx.exec(t.Context(), "SET LOCAL enable_seqscan = off")
			attempt, columns = "EXPLAIN ", 1
		}
		expand := l.expandSQL
		if strings.Contains(text, "{rows}") {
			rows := slices.Repeat([][]any{bulkRow(args)}, 4)
			args = l.bulk.args(rows)
			expand = func(text string) string {
				expanded, _ := l.expandBulk(text, rows)
				return expanded
			}
		}
		text := attempt + expand(text)
		return scanAll(func(r *sql.Rows) error {
			line := make([]any, columns)
			for i := range line {
				line[i] = new(any)
			}
			err := r.Scan(line...)
			fmt.Fprintln(&plan, *line[columns-1].(*any))
			return err
		})(tx.QueryContext(t.Context(), text, args...))
	})
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return plan.String()
}

func bulkRow(args []any) []any {
	row := make([]any, len(args))
	for i, a := range args {
		if n, ok := a.(int); ok {
			a = int64(n)
		}
		row[i] = a
	}
	return row
}

// computedNodes are the nodes of SQLite's plans that scan no table, but intermediate results.
var computedNodes = []string{"CONSTANT ROW", "4 CONSTANT ROWS", "v", "g", "h", "held", "kinds", "parts", "ids VIRTUAL TABLE INDEX 1:"}

// tableScan returns the line of a plan that scans a whole table, or "".
func hasBound(name goose.Dialect, plan, column string) bool {
	condition := regexp.MustCompile(`Index Cond: .*\b` + column + ` <`) // with the rows at the start of the index in PostgreSQL
	if name == goose.DialectSQLite3 {
		condition = regexp.MustCompile(`\b` + column + `<\?`)
	}
	return condition.MatchString(plan)
}

func tableScan(name goose.Dialect, plan string) string {
	for line := range strings.Lines(plan) {
		if name == goose.DialectPostgres && strings.Contains(line, "Seq Scan") {
			return line
		}
		scanned, scan := strings.CutPrefix(strings.TrimSpace(line), "SCAN ")
		if name == goose.DialectSQLite3 && scan && !slices.Contains(computedNodes, scanned) {
			return line
		}
	}
	return ""
}
