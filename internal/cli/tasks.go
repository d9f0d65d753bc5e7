package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"

	"github.com/alecthomas/kong"

	"laststand/internal/taskqueue"
)

type tasksCmd struct {
	List struct {
		taskFilter
		State string `enum:"waiting,claimed,later,dead,done,discarded,all" default:"dead" placeholder:"dead" query:"state" help:"List only tasks in this state: waiting, claimed, later, dead, done, discarded or all (default dead)."`
	} `cmd:"" help:"List tasks, newest first."`
	Show struct {
		ID string `arg:"" help:"The id of the task."`
	} `cmd:"" help:"Print a task with its payload and errors."`
	Edit    tasksEdit  `cmd:"" help:"Replace the payload of a task."`
	Requeue taskAction `cmd:"" help:"Requeue tasks, so that workers try them again immediately."`
	Discard taskAction `cmd:"" help:"Discard tasks, so that no worker tries them again."`
}

// taskFilter is the flags that select tasks by game and topic. An empty flag selects all.
type taskFilter struct {
	Game  string `placeholder:"NAME" query:"game" help:"Select only tasks of this game."`
	Topic string `placeholder:"NAME" query:"topic" help:"Select only tasks of this topic, such as webhook/demo/rewards."`
}

// lastTaskError returns the error of the last failed try of a task, or "".
func lastTaskError(t taskqueue.Task) string {
	if len(t.Errors) == 0 {
		return ""
	}
	return t.Errors[len(t.Errors)-1].Error
}

func taskPath(id, suffix string) string { return "/tasks/" + url.PathEscape(id) + suffix }

type tasksEdit struct {
	ID   string `arg:"" help:"The id of the task."`
	File string `arg:"" help:"The file with the payload as JSON; - means standard input."`
}

func (e *tasksEdit) Run(ctx context.Context, admin *adminClient) error {
	payload, err := readPayload(e.File)
	if err != nil {
		return fmt.Errorf("read the payload: %w", err)
	}
	t, err := call[taskqueue.Task](ctx, admin, http.MethodPut, taskPath(e.ID, "/payload"), payload)
	if err != nil {
		return err
	}
	return admin.printf("%s: edited; run `server tasks requeue %s` to try the task again\n", t.ID, t.ID)
}

func readPayload(path string) ([]byte, error) {
	if path == stdio {
		return io.ReadAll(os.Stdin)
	}
	return os.ReadFile(path)
}

// taskAction requests an action for tasks, which it selects by their ids, or all dead tasks with --all.
// The name of the command is the action.
type taskAction struct {
	taskFilter
	IDs []string `arg:"" optional:"" name:"id" help:"The ids of the tasks."`
	All bool     `help:"Select all dead tasks, or those of --game and --topic."`
}

// Run fails if the server refuses a task, or if a task is still dead.
func (s *taskAction) Run(ctx context.Context, admin *adminClient, command *kong.Context) error {
	changed, err := s.requestAction(ctx, admin, command.Selected().Name)
	dead := 0
	for _, t := range changed {
		if t.State == taskqueue.StateDead {
			dead++
		}
	}
	if dead > 0 {
		err = errors.Join(err, fmt.Errorf("tasks still dead: %d; see `server tasks show ID` for the payload and the errors", dead))
	}
	return err
}

// requestAction requests an action for each selected task. It prints and returns the changed
// tasks. It continues if the server refuses one of the ids; its error lists all refused tasks.
func (s *taskAction) requestAction(ctx context.Context, admin *adminClient, action string) (changed []taskqueue.Task, err error) {
	if s.All == (len(s.IDs) > 0) {
		return nil, fmt.Errorf("give either the ids of the tasks to %s, or --all", action)
	}
	if s.All {
		return s.requestForAll(ctx, admin, action)
	}
	var errs []error
	for _, id := range s.IDs {
		t, err := call[taskqueue.Task](ctx, admin, http.MethodPost, taskPath(id, "/"+action), nil)
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", id, err))
			continue
		}
		printState(t, admin.output)
		changed = append(changed, t)
	}
	return changed, errors.Join(errs...)
}

// requestForAll requests the action for all dead tasks that the filter selects, page by page.
func (s *taskAction) requestForAll(ctx context.Context, admin *adminClient, action string) (changed []taskqueue.Task, err error) {
	body := map[string]string{"game": s.Game, "topic": s.Topic}
	type taskPage struct {
		Tasks      []taskqueue.Task
		NextCursor string `json:"next_cursor"`
	}
	for {
		page, err := call[taskPage](ctx, admin, http.MethodPost, "/tasks/"+action, body)
		if err != nil {
			return changed, err
		}
		for _, t := range page.Tasks {
			printState(t, admin.output)
		}
		changed = append(changed, page.Tasks...)
		if body["cursor"] = page.NextCursor; page.NextCursor == "" {
			return changed, nil
		}
	}
}

func printState(t taskqueue.Task, output Output) {
	if t.State == taskqueue.StateDead {
		fmt.Fprintf(output.Stdout, "%s: dead: %s\n", t.ID, lastTaskError(t))
		return
	}
	fmt.Fprintf(output.Stdout, "%s: %s\n", t.ID, t.State)
}

type taskQueuesCmd struct {
	List struct {
		Kind  string `placeholder:"NAME" query:"kind" help:"List only queues of this kind: the topic up to its first slash."`
		Topic string `placeholder:"NAME" query:"topic" help:"List only queues of this topic."`
		Busy  bool   `query:"busy" help:"List only queues with tasks that wait or are in progress."`
		Limit int    `default:"1000" placeholder:"N" help:"List at most N queues (default 1000)."`
	} `cmd:"" help:"List the task queues and how many tasks wait in each."`
}
