package cli

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"text/tabwriter"
	"time"

	"laststand/internal/config"
	"laststand/internal/identity"
	"laststand/internal/ledger"
)

// adminClient calls the admin API of a running server. Its token is signed with the server's own
// key, which it reads from the database before the first call. So a command needs the
// configuration and the database of that server.
type adminClient struct {
	flags   *Flags
	output  Output
	address string // host:port of the operations listener; "": not connected yet
	token   string
}

// adminTTL is the lifetime of the token of a command.
const adminTTL = time.Hour

// connect creates the token of the command, if it has none yet.
func (a *adminClient) connect(ctx context.Context) error {
	if a.address != "" {
		return nil
	}
	return a.flags.withLedger(func(c *config.Config, l *ledger.Ledger) error {
		tokens, err := c.OpenTokens(ctx, l.TokenKeys, nil, nil)
		if err != nil {
			return err
		}
		a.token, _, err = tokens.Mint(identity.Claims{Subject: "command", Role: identity.RoleAdmin}, adminTTL)
		a.address = dialAddress(c.OpsListen)
		return err
	})
}

// dialAddress returns the address at which to connect to a listener. For a listener on all
// addresses that is localhost.
func dialAddress(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

// call sends a request for a path below /admin/v1 and decodes the response into result, if
// result is not nil. The body of the request is content: JSON as []byte, a value to encode,
// or nil for no body.
func (a *adminClient) call(ctx context.Context, method, path string, content, result any) error {
	body, err := a.open(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer body.Close()
	if result == nil {
		return nil
	}
	if err := json.NewDecoder(body).Decode(result); err != nil {
		return fmt.Errorf("decode the response of the server at %s: %w", a.address, err)
	}
	return nil
}

// open sends a request like call and returns the body of the response, which the caller must
// close. It returns an error for a status of 400 or more.
func (a *adminClient) open(ctx context.Context, method, path string, content any) (io.ReadCloser, error) {
	if err := a.connect(ctx); err != nil {
		return nil, err
	}
	encoded, ok := content.([]byte)
	if !ok && content != nil {
		var err error
		if encoded, err = json.Marshal(content); err != nil {
			return nil, err
		}
	}
	request, err := http.NewRequestWithContext(ctx, method, "http://"+a.address+"/admin/v1"+path, bytes.NewReader(encoded))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+a.token)
	if encoded != nil {
		request.Header.Set("Content-Type", "application/json")
	}
	response, err := http.DefaultClient.Do(request)
	if opError, ok := errors.AsType[*net.OpError](err); ok && opError.Op == "dial" {
		return nil, fmt.Errorf("no server answers at %s (%w); start it, or set --ops-listen to the operations address that it printed", a.address, opError.Err)
	}
	if err != nil {
		return nil, err
	}
	if response.StatusCode < http.StatusBadRequest {
		return response.Body, nil
	}
	defer response.Body.Close()
	return nil, a.responseError(response)
}

// responseError converts an error response to an error. It does not close the response.
func (a *adminClient) responseError(response *http.Response) error {
	var problem struct{ Detail string }
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("%s is not the operations address of a server of this version (%s)", a.address, response.Status)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the server at %s has another key; use the same --data, --database or --config as the server, or the --ops-listen of your server", a.address)
	}
	return errors.New(problem.Detail)
}

// callAndPrint calls the API without a result and prints a message.
func (a *adminClient) callAndPrint(ctx context.Context, method, path, message string) error {
	if err := a.call(ctx, method, path, nil, nil); err != nil {
		return err
	}
	return a.printf("%s\n", message)
}

func (a *adminClient) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.output.Stdout, format, args...)
	return err
}

// fetchList reads a list page by page, until it has limit items; 0 means all. The pages have
// the items under the JSON key key. It sets hasMore if the list has more items.
func fetchList[T any](ctx context.Context, a *adminClient, path, key string, query url.Values, limit int) (items []T, hasMore bool, err error) {
	for {
		var page map[string]json.RawMessage
		if err := a.call(ctx, http.MethodGet, path+"?"+query.Encode(), nil, &page); err != nil {
			return nil, false, err
		}
		var pageItems []T
		if err := json.Unmarshal(page[key], &pageItems); err != nil {
			return nil, false, err
		}
		items = append(items, pageItems...)
		if limit > 0 && len(items) > limit {
			return items[:limit], true, nil
		}
		if page["next_cursor"] == nil {
			return items, false, nil
		}
		var cursor string
		if err := json.Unmarshal(page["next_cursor"], &cursor); err != nil {
			return nil, false, err
		}
		query.Set("cursor", cursor)
	}
}

// listQuery returns a query of the largest pages, with pairs of a name and a value. It leaves
// out empty values.
func listQuery(pairs ...string) url.Values {
	query := url.Values{"limit": {"200"}}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			query.Set(pairs[i], pairs[i+1])
		}
	}
	return query
}

// table prints items, a row for each. header has the titles of the columns, separated by tabs.
type table[T any] struct {
	header string
	row    func(T) []any
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

// printList prints a list; see fetchList.
func (t table[T]) printList(ctx context.Context, a *adminClient, path, key string, query url.Values, limit int) error {
	items, _, err := fetchList[T](ctx, a, path, key, query, limit)
	if err != nil {
		return err
	}
	return t.print(a, items...)
}

// callAndPrint sends a request and prints the item in the response.
func (t table[T]) callAndPrint(ctx context.Context, a *adminClient, method, path string, body any) error {
	var item T
	if err := a.call(ctx, method, path, body, &item); err != nil {
		return err
	}
	return t.print(a, item)
}

// gamePath returns the path of a game's resource. For game "" it returns the path of the same
// resource of the server itself.
func gamePath(game, suffix string) string {
	if game == "" {
		return suffix
	}
	return "/games/" + url.PathEscape(game) + suffix
}

// gameFlag is the flag --game of commands that act on one game.
type gameFlag struct {
	Game string `required:"" placeholder:"NAME" help:"The game."`
}

func (g gameFlag) path(suffix string) string { return gamePath(g.Game, suffix) }

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

// expiryAfter returns the time after d in epoch ms. It returns 0 (never) if d is 0.
func expiryAfter(d time.Duration) int64 {
	if d == 0 {
		return 0
	}
	return time.Now().Add(d).UnixMilli()
}

func checkLimit(limit int) error {
	if limit < 1 {
		return fmt.Errorf("--limit %d is out of range; use 1 or more", limit)
	}
	return nil
}
