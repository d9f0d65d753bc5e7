package ledger

import (
	"database/sql"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/pressly/goose/v3"

	"laststand/internal/taskqueue"
	"laststand/internal/testenv"
)

// plannedStatement is a statement of the queue with a row of its list or its parameters, and the
// indexes that it must use.
type plannedStatement struct {
	text    string
	args    []any
	indexes string
}

func plannedStatements() map[string]plannedStatement {
	chosen := func(f taskqueue.Filter) string {
		text, _ := taskCondition(f, make([]any, 2))
		return strings.Replace(selectTasks, "{chosen}", text, 1)
	}
	one := int64(1)
	return map[string]plannedStatement{
		"task":                {selectTask, []any{"t"}, "tasks_pkey"},
		"lock task":           {lockTask, []any{"t"}, "tasks_pkey"},
		"tasks":               {chosen(taskqueue.Filter{}), []any{"t", 10}, "tasks_pkey"},
		"tasks of a state":    {chosen(taskqueue.Filter{State: taskqueue.StateDead}), []any{"t", 10, "dead"}, "tasks_state"},
		"oldest of a state":   {chosen(taskqueue.Filter{State: taskqueue.StateDead, OldestFirst: true}), []any{"t", 10, "dead"}, "tasks_state"},
		"first of a key":      {selectTasksByKey, []any{"t", "g", "k"}, "tasks_key"},
		"move queues":         {updateQueues, []any{"t", one, "k", "o", one, "h", one}, "queues_ready"},
		"heads":               {selectHeads, []any{"t", one}, "queues_pkey"},
		"update task":         {updateTask, []any{"t", "s", one, one, one, one, "e", one, one}, "tasks_pkey"},
		"update payload":      {updatePayload, []any{"t", "p"}, "tasks_pkey"},
		"ready queues":        {selectReady, []any{"k", 10}, "queues_ready"},
		"next ready queue":    {selectNextReady, []any{"k"}, "queues_ready"},
		"lock a queue":        {lockReady, []any{"t", 1}, "queues_pkey"},
		"claim":               {claimTasks, []any{"t", one, one, one}, "tasks_pkey tasks_place"},
		"move scan":           {moveScan, []any{"t", one, one, one, "h", one}, "queues_pkey"},
		"complete":            {completeTasks, []any{"t", one, "p"}, "queues_pkey tasks_pkey"},
		"ended":               {selectEnded, []any{"t", one, "p"}, "tasks_pkey"},
		"renew":               {renewLeases, []any{"t", one, "p", one}, "tasks_pkey"},
		"lock claimed":        {lockClaimed, []any{"t", one, "p"}, "tasks_pkey"},
		"due":                 {lockDue, []any{10}, "tasks_due"},
		"has due":             {selectHasDue, nil, "tasks_due"},
		"lock forgotten":      {lockExpired, []any{1, 10}, "tasks_ended"},
		"forget":              {deleteTasks, []any{"t"}, "tasks_pkey"},
		"forget queues":       {deleteQueues, []any{"t", one, one}, "queues_pkey tasks_place"},
		"queues":              {strings.Replace(selectQueues, "{chosen}", "", 1), []any{"t", 1, 10}, "queues_pkey tasks_place"},
		"how many of a state": {strings.ReplaceAll(selectDepth, "{ended}", notEndedSQL), []any{"waiting", 10}, "tasks_state"},
	}
}

// The statements of the queue use their own indexes in queues of 100,000 tasks. SQLite
// ignores sizes. PostgreSQL keeps plans: a plan from a new, small or idle queue must be
// as good as one from later statistics.
func TestQueueStatementsUseTheirIndexes(t *testing.T) {
	eachLedger(t, func(t *testing.T, l *Ledger) {
		if l.name == goose.DialectSQLite3 {
			l.fillQueue(t, 1, 1000)
			for name, s := range plannedStatements() {
				s.check(t, name, l.explain(t, s.text, s.args))
			}
			return
		}
		conn := testenv.Need(l.writePool.Conn(t.Context()))(t)
		defer conn.Close()
		p := preparedConn{t, conn, map[string]string{}}
		p.exec("SET plan_cache_mode = force_generic_plan")
		for name, s := range plannedStatements() {
			p.prepare(name, l.dialect, s)
		}
		p.check("a new queue")
		l.fillQueue(t, 1, 10)
		p.exec("ANALYZE tasks, queues")
		p.check("ten tasks")
		l.fillQueue(t, 11, 100_000)
		p.check("many tasks, by the former plan")
		p.exec("DISCARD PLANS")
		p.check("many tasks")
		p.exec("ANALYZE tasks, queues")
		p.check("many tasks, analysed")
		p.exec("UPDATE tasks SET state = 'done', pos = NULL, due_at = NULL, ended_at = 1")
		p.exec("UPDATE queues SET scan = pos")
		p.exec("ANALYZE tasks, queues")
		p.check("all done")
	})
}

// fillQueue adds numbered tasks, each with its own topic, and some in each state.
func (l *Ledger) fillQueue(t *testing.T, from, to int) {
	t.Helper()
	numbers := fmt.Sprintf("WITH RECURSIVE n (i) AS (SELECT %d UNION ALL SELECT i + 1 FROM n WHERE i < %d) ", from, to)
	for _, text := range []string{
		`INSERT INTO queues (topic, priority, kind, ordering, pos, scan, head, virtual_time)
SELECT 'k/' || i, 0, 'k', '', 10, 3, '', i FROM n`,
		`INSERT INTO tasks (id, game, topic, key, priority, ordering, payload, state, pos, fence, due_at, tries, max_tries, errors,
    created_at, changed_at, ended_at)
SELECT 'task' || i, 'g', 'k/' || i, 'key' || i, 0, '', '{}', CASE i % 10 WHEN 0 THEN 'done' WHEN 1 THEN 'claimed' WHEN 2 THEN 'later' ELSE 'waiting' END,
    CASE WHEN i % 10 IN (0, 2) THEN NULL ELSE i END, 1, CASE WHEN i % 10 IN (1, 2) THEN i END, 0, 20, '[]', 1, 1, CASE WHEN i % 10 = 0 THEN i END FROM n`,
	} {
		testenv.Need(l.writePool.ExecContext(t.Context(), numbers+text))(t)
	}
}

// preparedConn is a connection to PostgreSQL with prepared statements.
type preparedConn struct {
	t       *testing.T
	conn    *sql.Conn
	execute map[string]string // by name: the text that executes it
}

func (p preparedConn) exec(text string) {
	p.t.Helper()
	testenv.Need(p.conn.ExecContext(p.t.Context(), text))(p.t)
}

func (p preparedConn) prepare(name string, d *dialect, s plannedStatement) {
	p.t.Helper()
	list := strings.Contains(s.text, "{rows}")
	text := d.expandSQL(s.text, bulkRow(s.args)) // also of a text without {rows}
	var values []string
	for _, a := range s.args {
		value := fmt.Sprint(a)
		if list {
			value = "{" + value + "}"
		}
		values = append(values, "'"+value+"'")
	}
	id := strings.ReplaceAll(name, " ", "_")
	p.exec("PREPARE " + id + " AS " + text)
	p.execute[name] = "EXECUTE " + id
	if len(values) > 0 {
		p.execute[name] += "(" + strings.Join(values, ", ") + ")"
	}
}

func (p preparedConn) check(when string) {
	p.t.Helper()
	for name, s := range plannedStatements() {
		var plan strings.Builder
		err := scanAll(func(r *sql.Rows) error {
			var line string
			err := r.Scan(&line)
			fmt.Fprintln(&plan, line)
			return err
		})(p.conn.QueryContext(p.t.Context(), "EXPLAIN "+p.execute[name]))
		if err != nil {
			p.t.Fatal(err)
		}
		s.check(p.t, name+", "+when, plan.String())
	}
}

var (
	usesIndex = regexp.MustCompile(`(?:Index Scan on|Scan using|Scan Backward using|INDEX) (\w+)`)
	ofIndex   = regexp.MustCompile(`Index (?:Only )?Scan`)
)

// check checks that a plan uses exactly these indexes. Each must have a condition, unless
// it provides the order of a LIMIT.
func (s plannedStatement) check(t *testing.T, name, plan string) {
	t.Helper()
	var used []string
	for _, m := range usesIndex.FindAllStringSubmatch(plan, -1) {
		index := strings.TrimSuffix(m[1], "1") // of a table by the name of a former one
		if table, ok := strings.CutPrefix(m[1], "sqlite_autoindex_"); ok {
			index = strings.TrimSuffix(table, "_1") + "_pkey"
		}
		if !slices.Contains(used, index) {
			used = append(used, index)
		}
	}
	slices.Sort(used)
	if got := strings.Join(used, " "); got != s.indexes || strings.Contains(plan, "Seq Scan") {
		t.Errorf("%s uses %q, want %q:\n%s", name, got, s.indexes, plan)
	}
	if strings.Count(plan, "Index Cond:") < len(ofIndex.FindAllString(plan, -1)) {
		t.Errorf("%s reads all of an index:\n%s", name, plan)
	}
}
