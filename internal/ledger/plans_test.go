package ledger

import (
	"context"
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/answers"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// Frequent statements find their rows by an index, however large the tables are.
func TestFrequentStatementsUseIndexes(t *testing.T) {
	t.Parallel()
	statements := map[string]statement{
		"player by id":          {selectPlayerByID, []any{"g", "p"}},
		"player by device":      {selectPlayerByDevice, []any{"g", "d"}},
		"account":               {selectAccount, []any{"g", "s", "h"}},
		"erased subject":        {selectIsErased, []any{"g", "h"}},
		"opaque id":             {selectOpaque, []any{"g", "s", "h"}},
		"own or guest":          {selectIsOwnAccount, []any{"g", "p"}},
		"rename entries":        {renameEntries, []any{"g", "s", "o"}},
		"rename sums":           {renameSums, []any{"g", "s", "o"}},
		"rename seats":          {renameSeats, []any{"g", "s", "o"}},
		"rename firsts":         {renameFirsts, []any{"g", "s", "o"}},
		"old erasure":           {lockOldErasure, []any{1}},
		"days of a player":      {selectPlayerDays, []any{"g", "s"}},
		"versions":              {updateDayVersionsFrom, []any{"g", "d", 1}},
		"move account":          {moveAccount, []any{"g", "s", "p"}},
		"ratings":               {selectRatings, []any{"g", idList{"p", "q"}}},
		"delete player":         {deletePlayer, []any{"g", "p"}},
		"revocations":           {selectRevocationsSince, []any{1, 10}},
		"revocations of a game": {selectRevocationsOfGame, []any{"g", 1, "ban", 10}},
		"end a revocation":      {endRevocation, []any{"g", "ban", "p", 1, "by", 2}},
		"hold head":             {lockHeadStatement, []any{"g"}},
		"move head":             {updateHead, []any{"g", 1, "d", "d"}},
		"rows":                  {selectEntries, []any{"g", 1, 10}},
		"standings":             {selectStandings, []any{"g", "m", 0, 50}},
		"standings by rank":     {selectByRank, []any{"g", "m", 0, 50}},
		"recounted standing":    {updateSeat, []any{"g", "m", 1, 1, 1, 1, 1, 1, 1}},
		"one seat":              {selectOneSeat, []any{"g", "m", "p"}},
		"known matches":         {selectKnown, []any{"g", "m"}},
		"recorded match":        {updateMatch, []any{"g", "m", "r"}},
		"pairs met":             {selectPairDuels, []any{"g", "d", "p", "q"}},
		"forgotten pairs":       {deletePairs, []any{"g", "d", 10}},
		"player's entry":        {selectPlayerEntry, []any{"g", "p", "m"}},
		"match's entries":       {selectMatchEntries, []any{"g", "m", 1, 10}},
		"remaining":             {selectNewestRemaining, []any{"g", 1, "player", "p", 1, 10}},
		"day's version":         {updateDayVersion, []any{"g", "d", 1}},
		"correct sums":          {correctSums, []any{"g", "player", "p", "d", 1, 1, 1, 1, 1, 1, 1, 1}},
		"empty sums":            {deleteEmptySums, []any{"g", "player", "p", "d"}},
		"day":                   {selectDay, []any{"g", "d"}},
		"day to sum":            {selectUnsummed, []any{"g"}},
		"page summed":           {updateSummedTo, []any{"g", "d", 1, 1, 1}},
		"add sums":              {addSums, []any{"g", 1, 10}},
		"day's sums":            {selectDaySums, []any{"g", "d", "player"}},
		"day's rows":            {computeDaySums, []any{"g", 1, 10, "player"}},
		"snapshot":              {selectSums, []any{"g", "d", 1}},
		"holders' sums":         {selectSumsUpTo, []any{"g", "player", "p", 10}},
		"done tasks":            taskPage(taskqueue.Filter{State: taskqueue.StateDone}),
		"keeping":               {lockMaintenance, nil},
		"queues":                {strings.Replace(selectQueues, "{chosen}", "", 1), []any{"t", 1, 10}},
		"busy queues":           {strings.Replace(selectQueues, "{chosen}", " AND "+busyQueue, 1), []any{"t", 1, 10}},
		"queues of a kind":      {strings.Replace(selectQueues, "{chosen}", " AND q.kind = $4", 1), []any{"t", 1, 10, "k"}},
		"queues of a topic":     {strings.Replace(selectQueues, "{chosen}", " AND q.topic = $4", 1), []any{"t", 1, 10, "t"}},
		"backlogs":              {selectBacklogs, []any{10, 10}},
		"forget audit":          {deleteOldAudit, []any{1, 10}},
		"audit":                 auditPage(identity.AuditFilter{}),
		"audit of a game":       auditPage(identity.AuditFilter{Game: "g"}),
		"audit of actor":        auditPage(identity.AuditFilter{Actor: "ops"}),
		"player by name":        {selectPlayerBySkeleton, []any{"g", "s"}},
		"seats of a match":      {selectSeats, []any{"g", "m"}},
		"asked questions":       {selectAsked, []any{"g", "h"}},
		"erased block":          {lockBlock, []any{"g", 1, "m", 0}},
		"erase in block":        {updateBlock, []any{"g", 1, "m", 0, []byte{}, "[]"}},
		"old answers":           {deleteAnswers, []any{"g", 1, 10}},
		"old questions":         {deleteAsked, []any{"g", 1, 10}},
		"old matches":           {selectOldMatches, []any{"g", 1, 10}},
		"seats of old match":    {deleteSeats, []any{"g", "m", 10}},
		"erase host":            {eraseHost, []any{"g", "h"}},
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

// callMethods calls the methods that run statements of their own.
func callMethods(ctx context.Context, l *Ledger) {
	m := match.Summary{Game: "g", Match: "m", OverAt: 1}
	_, _ = l.Players.Seat(ctx, "g", "p")
	_ = l.Players.RotateDevice(ctx, "g", "p", "d", "e")
	_, _ = l.Players.ResetDevice(ctx, "g", "p", "d")
	_ = l.Names.Rename(ctx, "g", "p", "n", "s")
	_, _ = l.Names.NicknameTaken(ctx, "g", "s")
	_, _ = l.Names.Nicknames(ctx, "g", []string{"p"})
	_, _ = l.Names.TeamNames(ctx, "g", []string{"t"})
	_ = l.Names.NamesBetween(ctx, 1, 2, nil)
	_ = l.Names.EachSkeleton(ctx, "g", nil)
	_, _ = l.Names.CountNames(ctx, "g")
	_, _, _ = l.Players.CreateGuest(ctx, identity.NewPlayer{Game: "g", ID: "guest", DeviceHash: "d", Nickname: "guest", Skeleton: "guest"})
	_ = l.Accounts.LinkAccount(ctx, "g", "guest", "a")
	_, _ = l.Revocations.Revision(ctx)
	_, _ = l.Revocations.SetRevocation(ctx, identity.Revocation{Game: "g", Kind: identity.KindSubject, ID: "p"})
	_ = l.TokenKeys.AddKey(ctx, "g", identity.Key{ID: "k"})
	_ = l.TokenKeys.RetireKey(ctx, "g", "k", 1)
	_, _ = l.TokenKeys.Keys(ctx, "g")
	_, _ = l.Banks.LoadBank(ctx, "b")
	_, _ = l.History.Match(ctx, "g", "m")
	_, _, _ = l.History.Matches(ctx, "g", "p", "", 10)
	_, _ = l.Answers.Of(ctx, answers.Match{Summary: m}, "p")
	_ = l.Answers.EachBlock(ctx, answers.Match{Summary: m}, nil)
	_, _ = l.Arenas.Arena(ctx, "g", "m")
	_, _, _ = l.Arenas.ArenasOf(ctx, "g", "h", "", 10)
	_ = l.Leaderboards.Snapshot(ctx, "g", func(leaderboard.Snapshot) error { return nil })
	_, _ = l.Leaderboards.ReadHolders(ctx, "g", leaderboard.Players, "p", 10)
	_, _ = l.Leaderboards.ReadMovingPlayers(ctx, "g", 1)
	_, _ = l.Leaderboards.DayVersion(ctx, "g", "d")
	_, _ = l.Results.PairDuels(ctx, "g", "p", "q")
	_, _ = l.Days.StartNewDays(ctx, "g")
	_ = l.Endpoints.EnableEndpoint(ctx, "g", "e")
	_ = l.Audit.EndAudit(ctx, "a", 200)
	_, _, _ = l.Tasks.CountTasks(ctx, "t", 10)
	_, _ = l.Corrections.MakeVoid(ctx, answers.Void{Game: "g", Match: "m"})
	_ = l.inTx(ctx, func(tx *transaction) error {
		newRecount(ctx, tx, match.Summary{Game: "g", Match: "m"}, 0)
		return nil
	})
	_, _, _ = l.Players.EnsurePlayer(ctx, identity.NewPlayer{Game: "g", ID: "p", Nickname: "n", Skeleton: "s"})
	_ = l.Accounts.Erase(ctx, "g", "p")
	_, _ = l.Accounts.ForgetErased(ctx, 0)
}

// Methods find their rows by an index, however large the tables are.
func TestMethodsUseIndexes(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		l.expanded.Clear()
		callMethods(t.Context(), l)
		explained := 0
		l.expanded.Range(func(key, expanded any) bool {
			text := key.(statementKey).text
			if command, _, _ := strings.Cut(strings.TrimSpace(text), " "); strings.Contains(text, "{rows}") || !slices.Contains([]string{"SELECT", "WITH", "UPDATE", "DELETE"}, command) {
				return true
			}
			explained++
			plan := l.explainGeneric(t, expanded.(string))
			if bad := tableScan(l.name, plan); bad != "" {
				t.Errorf("%s\nreads a whole table: %s\n%s", text, bad, plan)
			}
			return true
		})
		if explained < 60 {
			t.Errorf("only %d statements were explained", explained)
		}
	})
}

// explainGeneric returns the database's plan for a statement with any arguments.
func (l *Ledger) explainGeneric(t *testing.T, expanded string) string {
	t.Helper()
	args := []any{}
	for strings.Contains(expanded, fmt.Sprint("$", len(args)+1)) {
		args = append(args, nil)
	}
	if l.name != goose.DialectPostgres {
		return l.explain(t, expanded, args)
	}
	var plan strings.Builder
	err := l.inTx(t.Context(), func(tx *transaction) error {
		tx.exec(t.Context(), "SET LOCAL enable_seqscan = off; SET LOCAL plan_cache_mode = force_generic_plan; PREPARE explained AS "+expanded)
		execute := "EXPLAIN EXECUTE explained"
		if len(args) > 0 {
			execute += "(NULL" + strings.Repeat(", NULL", len(args)-1) + ")"
		}
		var line string
		tx.each(t.Context(), eachRow(func() { fmt.Fprintln(&plan, line) }, &line), execute)
		tx.exec(t.Context(), "DEALLOCATE explained")
		return nil
	})
	if err != nil {
		t.Fatalf("%s: %v", expanded, err)
	}
	return plan.String()
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
		var rows [][]any
		if strings.Contains(text, "{rows}") {
			rows = slices.Repeat([][]any{bulkRow(args)}, 4)
			args = l.bulkArgs(rows)
		}
		text := attempt + l.expandSQL(text, rows...)
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
