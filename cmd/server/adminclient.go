package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"laststand/internal/identity"
	"laststand/internal/ledger"
)

// adminClient calls the admin API of a running server. Its token is signed with the server's own
// key, which the command reads from the database.
type adminClient struct {
	address string // host:port of the operations listener
	token   string
}

// adminTTL is the lifetime of the token of a command, and the timeout of the command.
const adminTTL = time.Hour

// opsHelp is a sentence in the help of all commands that call the admin API.
const opsHelp = "The command calls the admin API of the running server at --ops-listen."

// withAdmin runs a command with a client of the running server. It needs the configuration and
// the database of that server.
func withAdmin(flags *cli, command func(context.Context, adminClient) error) error {
	var admin adminClient
	err := withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		tokens, err := openTokens(ctx, c, l, nil, nil)
		if err != nil {
			return err
		}
		admin.address = dialAddress(c.OpsListen)
		admin.token, _, err = tokens.Mint(identity.Claims{Subject: "command", Role: identity.RoleAdmin}, adminTTL)
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTTL)
	defer cancel()
	return command(ctx, admin)
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

// call sends a request for a path below /admin/v1 and decodes the response into result. The
// body of the request is content: JSON as []byte, a value to encode, or nil for no body.
func (a adminClient) call(ctx context.Context, method, path string, content, result any) error {
	body, err := a.open(ctx, method, path, content)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(result); err != nil {
		return fmt.Errorf("decode the response of the server at %s: %w", a.address, err)
	}
	return nil
}

// open sends a request like call and returns the body of the response, which the caller must
// close. It returns an error for a status of 400 or more.
func (a adminClient) open(ctx context.Context, method, path string, content any) (io.ReadCloser, error) {
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

// deleteResource deletes the resource at a path of the admin API and prints a message.
func deleteResource(flags *cli, output commandOutput, path, message string) error {
	return withAdmin(flags, func(ctx context.Context, admin adminClient) error {
		body, err := admin.open(ctx, http.MethodDelete, path, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(output.stdout, message)
		return body.Close()
	})
}

// responseError converts an error response to an error. It does not close the response.
func (a adminClient) responseError(response *http.Response) error {
	var problem struct{ Detail string }
	if err := json.NewDecoder(response.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("%s is not the operations address of a server of this version (%s)", a.address, response.Status)
	}
	if response.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the server at %s has another key; use the same --data, --database or --config as the server, or the --ops-listen of your server", a.address)
	}
	return errors.New(problem.Detail)
}
