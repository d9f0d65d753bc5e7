package main

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"text/tabwriter"
	"time"

	"laststand/internal/taskqueue"
)

type tasksCmd struct {
	List    tasksList    `cmd:"" help:"List tasks, newest first."`
	Lines   tasksLines   `cmd:"" help:"List lines: how much waits in each."`
	Show    tasksShow    `cmd:"" help:"Print a task with its payload and errors."`
	Edit    tasksEdit    `cmd:"" help:"Give a task another payload."`
	Requeue tasksRequeue `cmd:"" help:"Try tasks again, now."`
	Discard tasksDiscard `cmd:"" help:"Give tasks up."`
}

// Help implements kong's help provider.
func (*tasksCmd) Help() string {
	return "Tasks that are dead wait for you: webhooks that failed to the last try, results that the ledger refused ten times. " +
		"Speaks to the running server, at its --ops-listen.\n\n" +
		"Example: server tasks list"
}

// chosen says which tasks a command is about.
type chosen struct {
	Game  string `placeholder:"NAME" help:"Only those of a game."`
	Topic string `placeholder:"NAME" help:"Only those of a topic, as webhook/demo/rewards."`
}

// taskPage is a part of a list of tasks.
type taskPage struct {
	Tasks      []taskqueue.Task
	NextCursor string `json:"next_cursor"`
}

type tasksList struct {
	chosen
	State string `enum:"waiting,claimed,later,dead,done,discarded,all" default:"dead" placeholder:"dead" help:"waiting, claimed, later, dead, done, discarded or all."`
}

// Help implements kong's help provider.
func (*tasksList) Help() string { return "Example: server tasks list --game demo --state all" }

// Run lists tasks with the last reason of each.
func (l *tasksList) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
		fmt.Fprintln(table, "ID\tGAME\tTOPIC\tKEY\tSTATE\tTRIES\tSINCE\tLAST ERROR")
		query := url.Values{"limit": {"200"}}
		for name, value := range map[string]string{"game": l.Game, "topic": l.Topic, "state": l.State} {
			if value != "" && value != "all" {
				query.Set(name, value)
			}
		}
		for {
			var page taskPage
			if err := a.call(ctx, http.MethodGet, "/tasks?"+query.Encode(), nil, &page); err != nil {
				return err
			}
			for _, t := range page.Tasks {
				since := time.UnixMilli(t.CreatedAt).UTC().Format(time.DateTime)
				fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%d\t%s\t%s\n", t.ID, t.Game, t.Topic, t.Key, t.State, t.Tries, since, lastError(t))
			}
			if page.NextCursor == "" {
				return table.Flush()
			}
			query.Set("cursor", page.NextCursor)
		}
	})
}

// lastError is why a task failed last.
func lastError(t taskqueue.Task) string {
	if len(t.Errors) == 0 {
		return ""
	}
	return t.Errors[len(t.Errors)-1].Error
}

func taskPath(id, rest string) string { return "/tasks/" + url.PathEscape(id) + rest }

type tasksShow struct {
	ID string `arg:"" help:"The task's id."`
}

// Help implements kong's help provider.
func (*tasksShow) Help() string { return "Example: server tasks show 5YTSVMLPDQIVPJ4EMMGBQXUCBD" }

// Run prints a task as JSON.
func (s *tasksShow) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var t taskqueue.Task
		if err := a.call(ctx, http.MethodGet, taskPath(s.ID, ""), nil, &t); err != nil {
			return err
		}
		e := json.NewEncoder(to.out)
		e.SetIndent("", "  ")
		return e.Encode(t)
	})
}
