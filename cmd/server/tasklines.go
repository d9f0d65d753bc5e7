package main

import (
	"cmp"
	"context"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"text/tabwriter"

	"laststand/internal/taskqueue"
)

type tasksLines struct {
	Kind  string `placeholder:"NAME" help:"Only those of a kind, which is a topic up to its first /."`
	Topic string `placeholder:"NAME" help:"Only those of a topic."`
	Busy  bool   `help:"Only those in which something waits, or was handed out and has not ended."`
	Limit int    `default:"1000" placeholder:"N" help:"How many at the most (default 1000)."`
}

// Help implements kong's help provider.
func (*tasksLines) Help() string {
	return "A line is the tasks of one topic and priority. POS is the last place that was given, SCAN how far tasks were handed out, DONE how far all " +
		"have ended or left for later; WAITING is between POS and SCAN, OPEN between SCAN and DONE. HEAD is the task that an ordered line waits for.\n\n" +
		"Example: server tasks lines --busy --kind webhook"
}

// linePage is a part of a list of lines.
type linePage struct {
	Lines      []taskqueue.Queue
	NextCursor string `json:"next_cursor"`
}

// Run lists lines.
func (l *tasksLines) Run(flags *cli, to console) error {
	if l.Limit < 1 {
		return fmt.Errorf("--limit %d: 1 or more", l.Limit)
	}
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		lines, more, err := l.read(ctx, a)
		if err != nil {
			return err
		}
		if err := printLines(lines, to); err != nil {
			return err
		}
		if more {
			fmt.Fprintf(to.err, "there are more than %d; choose with --kind, --topic and --busy, or give another --limit\n", l.Limit)
		}
		return nil
	})
}

// read gives the lines up to the limit, and whether there are more.
func (l *tasksLines) read(ctx context.Context, a adminClient) (lines []taskqueue.Queue, more bool, err error) {
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
		query.Set("limit", strconv.Itoa(min(l.Limit-len(lines), 200)))
		var page linePage
		if err := a.call(ctx, http.MethodGet, "/lines?"+query.Encode(), nil, &page); err != nil {
			return nil, false, err
		}
		lines = append(lines, page.Lines...)
		if page.NextCursor == "" || len(lines) >= l.Limit {
			return lines, page.NextCursor != "", nil
		}
		query.Set("cursor", page.NextCursor)
	}
}

func printLines(lines []taskqueue.Queue, to console) error {
	table := tabwriter.NewWriter(to.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(table, "TOPIC\tPRIORITY\tORDERING\tPOS\tSCAN\tDONE\tWAITING\tOPEN\tHEAD")
	for _, l := range lines {
		fmt.Fprintf(table, "%s\t%d\t%s\t%d\t%d\t%d\t%d\t%d\t%s\n", l.Topic, l.Priority, cmp.Or(string(l.Ordering), none),
			l.Pos, l.Scan, l.Done, l.Pos-l.Scan, l.Scan-l.Done, cmp.Or(l.Head, none))
	}
	return table.Flush()
}
