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
	ID   string `arg:"" help:"The task's id."`
	File string `arg:"" help:"The file with the payload as JSON; - for standard input."`
}

// Help implements kong's help provider.
func (*tasksEdit) Help() string {
	return "The payload of topic settle is the whole result of the same match, as show prints it; that of others up to 64 KiB of JSON.\n\n" +
		"Example: server tasks edit 5YTSVMLPDQIVPJ4EMMGBQXUCBD mended.json"
}

// Run gives a task another payload.
func (e *tasksEdit) Run(flags *cli, to console) error {
	payload, err := readPayload(e.File)
	if err != nil {
		return fmt.Errorf("the payload cannot be read: %w", err)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		var t taskqueue.Task
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

type tasksRequeue struct{ several }

// Help implements kong's help provider.
func (*tasksRequeue) Help() string {
	return "They have all their tries before them. Says what became of each, and ends with 1 if one is still dead or was refused.\n\n" +
		"Example: server tasks requeue --all --game demo"
}

// Run tries tasks again.
func (r *tasksRequeue) Run(flags *cli, to console) error {
	dead := 0
	err := r.ask(flags, "requeue", func(t taskqueue.Task) {
		printState(t, to)
		if t.State == taskqueue.Dead {
			dead++
		}
	})
	if dead > 0 {
		err = errors.Join(err, fmt.Errorf("%d still dead; `server tasks show` has the payload to mend", dead))
	}
	return err
}

type tasksDiscard struct{ several }

// Help implements kong's help provider.
func (*tasksDiscard) Help() string {
	return "They stay listed as discarded for 7 days, and may be requeued. Ends with 1 if one was refused.\n\n" +
		"Example: server tasks discard --all --topic webhook/demo/rewards"
}

// Run gives tasks up.
func (d *tasksDiscard) Run(flags *cli, to console) error {
	return d.ask(flags, "discard", func(t taskqueue.Task) { printState(t, to) })
}

// several are the tasks that a command is about: named ones, or dead ones that
// are chosen.
type several struct {
	chosen
	IDs []string `arg:"" optional:"" name:"id" help:"The tasks' ids."`
	All bool     `help:"All dead tasks, or those of --game and --topic."`
}

// ask asks the server to do something with the tasks, and tells what each has
// become.
func (s *several) ask(flags *cli, what string, became func(taskqueue.Task)) error {
	if s.All == (len(s.IDs) > 0) {
		return fmt.Errorf("name the tasks to %s, or give --all", what)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		if s.All {
			return s.askForAll(ctx, a, what, became)
		}
		return s.askForEach(ctx, a, what, became)
	})
}

// askForEach goes on after a task that is refused. Its error names them all.
func (s *several) askForEach(ctx context.Context, a adminClient, what string, became func(taskqueue.Task)) error {
	var errs []error
	for _, id := range s.IDs {
		var t taskqueue.Task
		if err := a.call(ctx, http.MethodPost, taskPath(id, "/"+what), nil, &t); err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		became(t)
	}
	return errors.Join(errs...)
}

func (s *several) askForAll(ctx context.Context, a adminClient, what string, became func(taskqueue.Task)) error {
	body := map[string]string{"game": s.Game, "topic": s.Topic}
	for {
		var page taskPage
		if err := a.call(ctx, http.MethodPost, "/tasks/"+what, body, &page); err != nil {
			return err
		}
		for _, t := range page.Tasks {
			became(t)
		}
		if body["cursor"] = page.NextCursor; page.NextCursor == "" {
			return nil
		}
	}
}

// printState says what became of a task.
func printState(t taskqueue.Task, to console) {
	if t.State == taskqueue.Dead {
		fmt.Fprintf(to.out, "%s: dead: %s\n", t.ID, lastError(t))
		return
	}
	fmt.Fprintf(to.out, "%s: %s\n", t.ID, t.State)
}
