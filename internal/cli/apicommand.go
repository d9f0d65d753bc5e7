package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"reflect"
	"strings"
	"time"

	"github.com/alecthomas/kong"
)

// An apiCommand is a command that makes one request to the admin API and prints the response. Its
// path stands below /admin/v1, or below /admin/v1/games/GAME if the command has the flag --game.
// Names in braces stand for flags and arguments of the command. A flag or argument with the tag
// query or body is sent as the parameter or field of that name.
// {target} stands for the one flag with the tag target that is set, after the value of the tag.
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

// showItems prints the items of a response as lines of JSON.
func showItems(ctx context.Context, a *adminClient, r apiRequest) error {
	response, err := call[struct{ Items []json.RawMessage }](ctx, a, r.method, r.path, r.body)
	for _, item := range response.Items {
		err = a.printf("%s\n", item)
	}
	return err
}

// showIndented prints the JSON of a response.
func showIndented(ctx context.Context, a *adminClient, r apiRequest) error {
	response, err := call[json.RawMessage](ctx, a, r.method, r.path, r.body)
	if err != nil {
		return err
	}
	encoder := json.NewEncoder(a.output.Stdout)
	encoder.SetIndent("", "  ")
	return encoder.Encode(response)
}
