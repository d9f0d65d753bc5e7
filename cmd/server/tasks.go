package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"laststand/internal/taskqueue"
)

type tasksCmd struct {
	List    tasksList    `cmd:"" help:"List tasks, newest first."`
	Show    tasksShow    `cmd:"" help:"Print a task with its payload and errors."`
	Edit    tasksEdit    `cmd:"" help:"Replace the payload of a task."`
	Requeue tasksRequeue `cmd:"" help:"Requeue tasks, so that workers try them again immediately."`
	Discard tasksDiscard `cmd:"" help:"Discard tasks, so that no worker tries them again."`
}

// Help implements kong's help provider.
func (*tasksCmd) Help() string {
	return "Dead tasks wait until you requeue, edit or discard them: webhook deliveries that failed on the last try, results that the ledger refused ten times. " +
		opsHelp + "\n\n" +
		"Example: server tasks list"
}

// taskFilter is the flags that select tasks by game and topic. An empty flag selects all.
type taskFilter struct {
	Game  string `placeholder:"NAME" help:"Select only tasks of this game."`
	Topic string `placeholder:"NAME" help:"Select only tasks of this topic, such as webhook/demo/rewards."`
}

// taskPage is one page of tasks from the admin API. NextCursor is "" on the last page.
type taskPage struct {
	Tasks      []taskqueue.Task
	NextCursor string `json:"next_cursor"`
}

type tasksList struct {
	taskFilter
	State string `enum:"waiting,claimed,later,dead,done,discarded,all" default:"dead" placeholder:"dead" help:"List only tasks in this state: waiting, claimed, later, dead, done, discarded or all (default dead)."`
}

// Help implements kong's help provider.
func (*tasksList) Help() string { return "Example: server tasks list --game demo --state all" }

// Run prints a table of tasks with the last error of each.
func (l *tasksList) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tGAME\tTOPIC\tKEY\tSTATE\tTRIES\tCREATED (UTC)\tLAST ERROR")
		query := url.Values{"limit": {"200"}}
		for name, value := range map[string]string{"game": l.Game, "topic": l.Topic, "state": l.State} {
			if value != "" && value != "all" {
				query.Set(name, value)
			}
		}
		for listed := 0; ; {
			var page taskPage
			if err := admin.call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil, &page); err != nil {
				return err
			}
			printTasks(table, page.Tasks)
			listed += len(page.Tasks)
			if page.NextCursor == "" && listed == 0 {
				_, err := fmt.Fprintln(output.stdout, l.emptyText())
				return err
			}
			if page.NextCursor == "" {
				return table.Flush()
			}
			query.Set("cursor", page.NextCursor)
		}
	})
}

// printTasks prints the rows of tasks, for a table.
func printTasks(table io.Writer, tasks []taskqueue.Task) {
	for _, t := range tasks {
		created := time.UnixMilli(t.CreatedAt).UTC().Format(time.DateTime)
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", t.ID, t.Game, t.Topic, t.Key, t.State, t.Tries, created, lastTaskError(t))
	}
}

// emptyText returns the text that the command prints instead of an empty table.
func (l *tasksList) emptyText() string {
	if l.State == "all" {
		return "no tasks in any state"
	}
	return fmt.Sprintf("no tasks in state %s; to list other states, use --state, such as --state all", l.State)
}

// lastTaskError returns the error of the last failed try of a task, or "".
func lastTaskError(t taskqueue.Task) string {
	if len(t.Errors) == 0 {
		return ""
	}
	return t.Errors[len(t.Errors)-1].Error
}

func taskPath(id, suffix string) string { return "/tasks/" + url.PathEscape(id) + suffix }

type tasksShow struct {
	ID string `arg:"" help:"The id of the task."`
}

// Help implements kong's help provider.
func (*tasksShow) Help() string { return "Example: server tasks show 5YTSVMLPDQIVPJ4EMMGBQXUCBD" }

// Run prints a task as JSON.
func (s *tasksShow) Run(flags *cli, output commandOutput) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var t taskqueue.Task
		if err := admin.call(ctx, http.MethodGet, taskPath(s.ID, ""), nil, &t); err != nil {
			return err
		}
		e := json.NewEncoder(output.stdout)
		e.SetIndent("", "  ")
		return e.Encode(t)
	})
}
