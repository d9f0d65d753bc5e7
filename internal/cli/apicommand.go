package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"reflect"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"
)

// An apiCommand is a command that makes one request to the admin API and prints the response. Its
// path stands below /admin/v1, or below /admin/v1/games/GAME if the command has the flag --game.
// Names in braces stand for flags and arguments of the command. A flag or argument with the tag
// query or body is sent as the parameter or field of that name. Several flags may have the tag
// target. {target} stands for the one that is set: the value of its tag, then its own value.
type apiCommand struct {
	method, path string
	print        func(context.Context, *adminClient, apiRequest) error
}

// An apiRequest is the request of a command.
type apiRequest struct {
	method, path string
	body         any               // nil: none
	values       map[string]string // flags and arguments of the command, by name
}

// newRequest returns the request for a parsed command.
func (c apiCommand) newRequest(command *kong.Node) apiRequest {
	r := apiRequest{method: c.method, values: make(map[string]string)}
	query, body, game := url.Values{}, make(map[string]any), ""
	path, fixedQuery, _ := strings.Cut(c.path, "?")
	for _, value := range command.Values() {
		text := fmt.Sprint(value.Target.Interface())
		r.values[value.Name] = text
		path = strings.ReplaceAll(path, "{"+value.Name+"}", url.PathEscape(text))
		if target := value.Tag.Get("target"); target != "" && text != "" {
			path = strings.ReplaceAll(path, "{target}", target+"/"+url.PathEscape(text))
		}
		parameter, field := value.Tag.Get("query"), value.Tag.Get("body")
		switch isUnset := value.Target.IsZero() && !value.Required && value.Target.Kind() != reflect.Int; {
		case field != "" && !isUnset:
			body[field] = bodyValue(value.Target.Interface())
		case parameter != "" && !isUnset && (text != "all" || value.Tag.Enum == ""):
			query.Set(parameter, text)
		case value.Name == "game" && parameter == "":
			game = text
		}
	}
	if len(body) > 0 {
		r.body = body
	}
	r.path = strings.TrimRight(gamePath(game, path)+"?"+strings.Trim(fixedQuery+"&"+query.Encode(), "&"), "?")
	return r
}

// bodyValue returns the value of a flag as the admin API expects it. A duration becomes the time
// after it. All times are in epoch ms.
func bodyValue(value any) any {
	switch value := value.(type) {
	case time.Duration:
		return time.Now().Add(value).UnixMilli()
	case time.Time:
		return value.UnixMilli()
	}
	return value
}

// message returns the print function of a command whose response does not matter. Names in braces
// stand for flags and arguments.
func message(text string) func(context.Context, *adminClient, apiRequest) error {
	return show(func(r apiRequest, _ struct{}) string {
		line := text
		for name, value := range r.values {
			line = strings.ReplaceAll(line, "{"+name+"}", value)
		}
		return line
	})
}

// show returns the print function of a command that prints one line about the response.
func show[T any](line func(apiRequest, T) string) func(context.Context, *adminClient, apiRequest) error {
	return report(func(r apiRequest, response T) (string, error) { return line(r, response), nil })
}

// report is show for a command that fails if line returns an error about the response.
func report[T any](line func(apiRequest, T) (string, error)) func(context.Context, *adminClient, apiRequest) error {
	return func(ctx context.Context, a *adminClient, r apiRequest) error {
		response, err := call[T](ctx, a, r.method, r.path, r.body)
		if err != nil {
			return err
		}
		text, err := line(r, response)
		if err != nil {
			return err
		}
		return a.printf("%s\n", text)
	}
}

func showItems(ctx context.Context, a *adminClient, r apiRequest) error {
	response, err := call[struct{ Items []json.RawMessage }](ctx, a, r.method, r.path, r.body)
	for _, item := range response.Items {
		err = a.printf("%s\n", item)
	}
	return err
}

func showIndented(ctx context.Context, a *adminClient, r apiRequest) error {
	response, err := call[json.RawMessage](ctx, a, r.method, r.path, r.body)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(a.output.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(response)
}

// table prints items, a row for each. header has the titles of the columns, separated by tabs.
type table[T any] struct {
	header string
	row    func(T) []any
	none   func(apiRequest) string // returns the text for an empty list; nil: print the header
}

func (t table[T]) print(a *adminClient, items ...T) error {
	writer := tabwriter.NewWriter(a.output.Stdout, 0, 0, 2, ' ', 0)
	fmt.Fprintln(writer, t.header)
	for _, item := range items {
		cells := t.row(item)
		fmt.Fprintf(writer, strings.Repeat("%v\t", len(cells)-1)+"%v\n", cells...)
	}
	return writer.Flush()
}

// one is the print function of a command whose response is one item.
func (t table[T]) one(ctx context.Context, a *adminClient, r apiRequest) error {
	item, err := call[T](ctx, a, r.method, r.path, r.body)
	if err != nil {
		return err
	}
	return t.print(a, item)
}

// list returns the print function of a command whose response is a list under a JSON key. If the
// command has the flag --limit, the function prints at most that many items.
func (t table[T]) list(key string) func(context.Context, *adminClient, apiRequest) error {
	return func(ctx context.Context, a *adminClient, r apiRequest) error {
		limit := 0
		if text, hasLimit := r.values["limit"]; hasLimit {
			if limit, _ = strconv.Atoi(text); limit < 1 {
				return fmt.Errorf("--limit %s is out of range; use 1 or more", text)
			}
		}
		items, hasMore, err := fetchList[T](ctx, a, r.path, key, limit)
		if err != nil {
			return err
		}
		if hasMore {
			fmt.Fprintf(a.output.Stderr, "there are more than %d; select some with the other flags, or raise --limit\n", limit)
		}
		if len(items) == 0 && t.none != nil {
			return a.printf("%s\n", t.none(r))
		}
		return t.print(a, items...)
	}
}

// fetchList reads a list page by page, until it has limit items; 0 means all. The pages have
// the items under the JSON key key. It sets hasMore if the list has more items.
func fetchList[T any](ctx context.Context, a *adminClient, path, key string, limit int) (items []T, hasMore bool, err error) {
	path, text, _ := strings.Cut(path, "?")
	query, err := url.ParseQuery(text)
	for err == nil {
		var page map[string]json.RawMessage
		if page, err = call[map[string]json.RawMessage](ctx, a, http.MethodGet, path+"?"+query.Encode(), nil); err != nil {
			break
		}
		var pageItems []T
		if err = json.Unmarshal(page[key], &pageItems); err != nil {
			break
		}
		items = append(items, pageItems...)
		if limit > 0 && len(items) > limit {
			return items[:limit], true, nil
		}
		if page["next_cursor"] == nil {
			return items, false, nil
		}
		var cursor string
		err = json.Unmarshal(page["next_cursor"], &cursor)
		query.Set("cursor", cursor)
	}
	return nil, false, err
}

// emptyCell is the text for an empty value in a table.
const emptyCell = "-"

// formatTime formats epoch ms for a table, in UTC. It formats 0 as "-".
func formatTime(ms int64) string {
	if ms == 0 {
		return emptyCell
	}
	return time.UnixMilli(ms).UTC().Format(time.DateTime)
}

// formatExpiry returns "until" and the time ms (epoch ms), or "forever" for 0.
func formatExpiry(ms int64) string {
	if ms == 0 {
		return "forever"
	}
	return "until " + formatTime(ms) + " UTC"
}

// timeAndText returns a text and its time (epoch ms). It returns "-" for no text.
func timeAndText(ms int64, text string) string {
	if text == "" {
		return emptyCell
	}
	return formatTime(ms) + ": " + text
}

// formatDuration formats a duration in ms, rounded. A negative duration counts as 0.
func formatDuration(ms int64) string {
	d := time.Duration(max(0, ms)) * time.Millisecond
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(100 * time.Millisecond)
	}
	return d.String()
}
