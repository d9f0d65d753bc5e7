package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"
)

type taskQueuesCmd struct {
	List taskQueuesList `cmd:"" help:"List the task queues and how many tasks wait in each."`
}

// Help implements kong's help provider.
func (*taskQueuesCmd) Help() string {
	return "A task queue has the tasks of one topic and priority. " + opsHelp + "\n\nExample: server task-queues list --busy"
}

type taskQueuesList struct {
	Kind  string `placeholder:"NAME" help:"List only queues of this kind: the topic up to its first slash."`
	Topic string `placeholder:"NAME" help:"List only queues of this topic."`
	Busy  bool   `help:"List only queues with tasks that wait or are in progress."`
	Limit int    `default:"1000" placeholder:"N" help:"List at most N queues (default 1000)."`
}

// Help implements kong's help provider.
func (*taskQueuesList) Help() string {
	return "LAST is the position of the newest task, CLAIMED the last position that workers have claimed. FINISHED is the position up to which " +
		"all tasks have ended or wait for a retry. WAITING is LAST minus CLAIMED, IN PROGRESS is CLAIMED minus FINISHED. " +
		"BLOCKED BY is the task that an ordered queue waits for.\n\n" +
		"Example: server task-queues list --busy --kind webhook"
}

// taskQueueState is the state of a task queue as the admin API returns it. Positions count the
// tasks of the queue.
type taskQueueState struct {
	Topic     string
	Priority  int64
	Ordering  string
	Last      int64  `json:"last_position"`
	Claimed   int64  `json:"claimed_position"`
	Finished  int64  `json:"finished_position"`
	BlockedBy string `json:"blocked_by"`
}

// Run prints a table of task queues.
func (l *taskQueuesList) Run(flags *cli, output commandOutput) error {
	if l.Limit < 1 {
		return fmt.Errorf("--limit %d is out of range; use 1 or more", l.Limit)
	}
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		queues, hasMore, err := l.readQueues(ctx, admin)
		if err != nil {
			return err
		}
		if err := printTaskQueues(queues, output); err != nil {
			return err
		}
		if hasMore {
			fmt.Fprintf(output.stderr, "there are more than %d queues; select some with --kind, --topic or --busy, or raise --limit\n", l.Limit)
		}
		return nil
	})
}

// readQueues returns the queues up to the limit, and whether there are more. It fetches pages of
// at most 200.
func (l *taskQueuesList) readQueues(ctx context.Context, admin adminClient) (queues []taskQueueState, hasMore bool, err error) {
	query := url.Values{}
	for name, value := range map[string]string{"kind": l.Kind, "topic": l.Topic} {
		if value != "" {
			query.Set(name, value)
		}
	}
	if l.Busy {
		query.Set("busy", "true")
	}
	for {
		query.Set("limit", strconv.Itoa(min(l.Limit-len(queues), 200)))
		var page struct {
			TaskQueues []taskQueueState `json:"task_queues"`
			NextCursor string           `json:"next_cursor"`
		}
		if err := admin.call(ctx, http.MethodGet, "/task-queues?"+query.Encode(), nil, &page); err != nil {
			return nil, false, err
		}
		queues = append(queues, page.TaskQueues...)
		if page.NextCursor == "" || len(queues) >= l.Limit {
			return queues, page.NextCursor != "", nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

func printTaskQueues(queues []taskQueueState, output commandOutput) error {
	table := tabwriter.NewWriter(output.stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOPIC\tPRIORITY\tORDERING\tLAST\tCLAIMED\tFINISHED\tWAITING\tIN PROGRESS\tBLOCKED BY")
	for _, q := range queues {
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", q.Topic, q.Priority, cmp.Or(q.Ordering, emptyCell),
			q.Last, q.Claimed, q.Finished, q.Last-q.Claimed, q.Claimed-q.Finished, cmp.Or(q.BlockedBy, emptyCell))
	}
	return table.Flush()
}
