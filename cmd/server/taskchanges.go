package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"laststand/internal/taskqueue"
)

type tasksEdit struct {
	ID   string `arg:"" help:"The id of the task."`
	File string `arg:"" help:"The file with the payload as JSON; - means standard input."`
}

// Help implements kong's help provider.
func (*tasksEdit) Help() string {
	return "The payload of topic settle is the complete result of the match, as `server tasks show` prints it. Payloads of other topics have up to 64 KiB of JSON.\n\n" +
		"Example: server tasks edit 5YTSVMLPDQIVPJ4EMMGBQXUCBD fixed.json"
}

// Run replaces the payload of a task.
func (e *tasksEdit) Run(flags *cli, output commandOutput) error {
	payload, err := readPayload(e.File)
	if err != nil {
		return fmt.Errorf("read the payload: %w", err)
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		var t taskqueue.Task
		if err := admin.call(ctx, http.MethodPut, taskPath(e.ID, "/payload"), payload, &t); err != nil {
			return err
		}
		fmt.Fprintf(output.stdout, "%s: edited; run `server tasks requeue %s` to try the task again\n", t.ID, t.ID)
		return nil
	})
}

func readPayload(path string) ([]byte, error) {
	if path == stdin {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

type tasksRequeue struct{ taskSelection }

// Help implements kong's help provider.
func (*tasksRequeue) Help() string {
	return "Requeued tasks have all their tries again. The command prints the state of each task, and exits with 1 if one is still dead or was refused.\n\n" +
		"Example: server tasks requeue --all --game demo"
}

// Run requeues tasks.
func (r *tasksRequeue) Run(flags *cli, output commandOutput) error {
	dead := 0
	err := r.requestAction(flags, "requeue", func(t taskqueue.Task) {
		printState(t, output)
		if t.State == taskqueue.StateDead {
			dead++
		}
	})
	if dead > 0 {
		err = errors.Join(err, fmt.Errorf("tasks still dead: %d; see `server tasks show ID` for the payload and the errors", dead))
	}
	return err
}

type tasksDiscard struct{ taskSelection }

// Help implements kong's help provider.
func (*tasksDiscard) Help() string {
	return "Discarded tasks stay in the list for 7 days, and you can requeue them. The command exits with 1 if one was refused.\n\n" +
		"Example: server tasks discard --all --topic webhook/demo/rewards"
}

// Run discards tasks.
func (d *tasksDiscard) Run(flags *cli, output commandOutput) error {
	return d.requestAction(flags, "discard", func(t taskqueue.Task) { printState(t, output) })
}

// taskSelection is the arguments that select tasks: by their ids, or all dead tasks with --all.
type taskSelection struct {
	taskFilter
	IDs []string `arg:"" optional:"" name:"id" help:"The ids of the tasks."`
	All bool     `help:"Select all dead tasks, or those of --game and --topic."`
}

// requestAction requests an action for each selected task and calls onChanged with each changed
// task.
func (s *taskSelection) requestAction(flags *cli, action string, onChanged func(taskqueue.Task)) error {
	if s.All == (len(s.IDs) > 0) {
		return fmt.Errorf("give either the ids of the tasks to %s, or --all", action)
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		if s.All {
			return s.requestForAll(ctx, admin, action, onChanged)
		}
		return s.requestForEach(ctx, admin, action, onChanged)
	})
}

// requestForEach requests the action for each id. It continues if the server refuses a task. Its
// error lists all refused tasks.
func (s *taskSelection) requestForEach(ctx context.Context, admin adminClient, action string, onChanged func(taskqueue.Task)) error {
	var errs []error
	for _, id := range s.IDs {
		var t taskqueue.Task
		if err := admin.call(ctx, http.MethodPost, taskPath(id, "/"+action), nil, &t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		onChanged(t)
	}
	return errors.Join(errs...)
}

// requestForAll requests the action for all dead tasks that the filter selects, page by page.
func (s *taskSelection) requestForAll(ctx context.Context, admin adminClient, action string, onChanged func(taskqueue.Task)) error {
	body := map[string]string{"game": s.Game, "topic": s.Topic}
	for {
		var page taskPage
		if err := admin.call(ctx, http.MethodPost, "/tasks/"+action, body, &page); err != nil {
			return err
		}
		for _, t := range page.Tasks {
			onChanged(t)
		}
		if body["cursor"] = page.NextCursor; page.NextCursor == "" {
			return nil
		}
	}
}

// printState prints the state of a task, and the last error of a dead task.
func printState(t taskqueue.Task, output commandOutput) {
	if t.State == taskqueue.StateDead {
		fmt.Fprintf(output.stdout, "%s: dead: %s\n", t.ID, lastTaskError(t))
		return
	}
	fmt.Fprintf(output.stdout, "%s: %s\n", t.ID, t.State)
}
