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

// call sends a request like open and decodes the response. A response without a body is the zero T.
func call[T any](ctx context.Context, a *adminClient, method, path string, content any) (result T, err error) {
	body, err := a.open(ctx, method, path, content)
	if err != nil {
		return result, err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(&result); err != nil && !errors.Is(err, io.EOF) {
		return result, fmt.Errorf("decode the response of the server at %s: %w", a.address, err)
	}
	return result, nil
}

// open sends a request for a path below /admin/v1 and returns the body of the response, which the
// caller must close. The body of the request is content: JSON as []byte, a value to encode, or nil
// for no body. It returns an error for a status of 400 or more.
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

func (a *adminClient) printf(format string, args ...any) error {
	_, err := fmt.Fprintf(a.output.Stdout, format, args...)
	return err
}

// gamePath returns the path of a game's resource. For game "" it returns the path of the same
// resource of the server itself.
func gamePath(game, suffix string) string {
	if game == "" {
		return suffix
	}
	return "/games/" + url.PathEscape(game) + suffix
}

type gameFlag struct {
	Game string `required:"" placeholder:"NAME" help:"The game."`
}

func (g gameFlag) path(suffix string) string { return gamePath(g.Game, suffix) }
