package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"text/tabwriter"
	"time"

	"laststand/internal/eventq"
)

type tasksCmd struct {
	List    tasksList    `cmd:"" help:"List tasks, newest first."`
	Show    tasksShow    `cmd:"" help:"Print a task with its payload and errors."`
	Edit    tasksEdit    `cmd:"" help:"Give a dead task another payload."`
	Requeue tasksRequeue `cmd:"" help:"Try dead tasks again, now."`
	Discard tasksDiscard `cmd:"" help:"Give dead tasks up."`
}

// Help implements kong's help provider.
func (*tasksCmd) Help() string {
	return "Tasks that are dead wait for you: results that the ledger refused ten times. Speaks to the running server, at its --ops-listen.\n\n" +
		"Example: server tasks list"
}

// chosen says which tasks a command is about.
type chosen struct {
	Game  string `placeholder:"NAME" help:"Only those of a game."`
	Topic string `placeholder:"NAME" help:"Only those of a topic, as settle."`
}

// taskPage is a part of a list of tasks.
type taskPage struct {
	Tasks      []eventq.Task
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
func lastError(t eventq.Task) string {
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
		var t eventq.Task
		if err := a.call(ctx, http.MethodGet, taskPath(s.ID, ""), nil, &t); err != nil {
			return err
		}
		e := json.NewEncoder(to.out)
		e.SetIndent("", "  ")
		return e.Encode(t)
	})
}

type tasksEdit struct {
	ID   string `arg:"" help:"The task's id."`
	File string `arg:"" help:"The file with the payload as JSON; - for standard input."`
}

// Help implements kong's help provider.
func (*tasksEdit) Help() string {
	return "The payload of topic settle is the whole result of the same match, as show prints it.\n\n" +
		"Example: server tasks edit 5YTSVMLPDQIVPJ4EMMGBQXUCBD mended.json"
}

// Run gives a task another payload.
func (e *tasksEdit) Run(flags *cli, to console) error {
	payload, err := readPayload(e.File)
	if err != nil {
		return fmt.Errorf("the payload cannot be read: %w", err)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var t eventq.Task
		if err := a.call(ctx, http.MethodPut, taskPath(e.ID, "/payload"), payload, &t); err != nil {
			return err
		}
		fmt.Fprintf(to.out, "%s: edited; `server tasks requeue %s` tries it\n", t.ID, t.ID)
		return nil
	})
}

func readPayload(path string) ([]byte, error) {
	if path == stdin {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

type tasksRequeue struct {
	chosen
	IDs []string `arg:"" optional:"" name:"id" help:"The tasks' ids."`
	All bool     `help:"All dead tasks, or those of --game and --topic."`
}

// Help implements kong's help provider.
func (*tasksRequeue) Help() string {
	return "Says what became of each, and ends with 1 if one is still dead.\n\n" +
		"Example: server tasks requeue --all --game demo"
}

// Run tries tasks again.
func (r *tasksRequeue) Run(flags *cli, to console) error {
	if r.All == (len(r.IDs) > 0) {
		return errors.New("name the tasks to requeue, or give --all")
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		requeue := r.each
		if r.All {
			requeue = r.every
		}
		dead, err := requeue(ctx, a, to)
		if err == nil && dead > 0 {
			err = fmt.Errorf("%d still dead; `server tasks show` has the payload to mend", dead)
		}
		return err
	})
}

func (r *tasksRequeue) each(ctx context.Context, a adminClient, to console) (dead int, err error) {
	for _, id := range r.IDs {
		var t eventq.Task
		if err := a.call(ctx, http.MethodPost, taskPath(id, "/requeue"), nil, &t); err != nil {
			return dead, fmt.Errorf("%s: %w", id, err)
		}
		dead += printState(t, to)
	}
	return dead, nil
}

func (r *tasksRequeue) every(ctx context.Context, a adminClient, to console) (dead int, err error) {
	body := map[string]string{"game": r.Game, "topic": r.Topic}
	for {
		var page taskPage
		if err := a.call(ctx, http.MethodPost, "/tasks/requeue", body, &page); err != nil {
			return dead, err
		}
		for _, t := range page.Tasks {
			dead += printState(t, to)
		}
		if body["cursor"] = page.NextCursor; page.NextCursor == "" {
			return dead, nil
		}
	}
}

// printState says what became of a task, and gives 1 if it is dead.
func printState(t eventq.Task, to console) (dead int) {
	if t.State != eventq.Dead {
		fmt.Fprintf(to.out, "%s: %s\n", t.ID, t.State)
		return 0
	}
	fmt.Fprintf(to.out, "%s: dead: %s\n", t.ID, lastError(t))
	return 1
}

type tasksDiscard struct {
	IDs []string `arg:"" name:"id" help:"The tasks' ids."`
}

// Help implements kong's help provider.
func (*tasksDiscard) Help() string {
	return "They stay listed as discarded, and may be requeued.\n\nExample: server tasks discard 5YTSVMLPDQIVPJ4EMMGBQXUCBD"
}

// Run gives tasks up.
func (d *tasksDiscard) Run(flags *cli, to console) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		for _, id := range d.IDs {
			var t eventq.Task
			if err := a.call(ctx, http.MethodPost, taskPath(id, "/discard"), nil, &t); err != nil {
				return fmt.Errorf("%s: %w", id, err)
			}
			printState(t, to)
		}
		return nil
	})
}
