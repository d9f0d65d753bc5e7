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

// adminClient calls the admin API of the running server, with a token that the server's
// own key signed.
type adminClient struct {
	address string // of the operations listener
	token   string
}

// adminTTL bounds how long a command takes: it is the lifetime of its token.
const adminTTL = time.Hour

// opsHelp is what the help of commands says that call the admin API.
const opsHelp = "The command calls the admin API of the running server at --ops-listen."

// withAdmin runs f with a client of the running server.
func withAdmin(flags *cli, f func(context.Context, adminClient) error) error {
	var a adminClient
	err := withLedger(flags, func(ctx context.Context, c *config, l *ledger.Ledger) error {
		tokens, err := openTokens(ctx, c, l, nil, nil)
		if err != nil {
			return err
		}
		a.address = reachable(c.OpsListen)
		a.token, _, err = tokens.Mint(identity.Claims{Subject: "command", Role: identity.RoleAdmin}, adminTTL)
		return err
	})
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), adminTTL)
	defer cancel()
	return f(ctx, a)
}

// reachable returns an address to connect to. A server that listens on all addresses is
// reached at localhost.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

// call sends a request for a path below /admin/v1 and decodes the answer into out. The
// body in is JSON bytes, nil for none, or a value to encode.
func (a adminClient) call(ctx context.Context, method, path string, in, out any) error {
	body, err := a.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(out); err != nil {
		return fmt.Errorf("decode the answer of the server at %s: %w", a.address, err)
	}
	return nil
}

// open sends a request and returns the body of the answer, which the caller closes.
func (a adminClient) open(ctx context.Context, method, path string, in any) (io.ReadCloser, error) {
	raw, ok := in.([]byte)
	if !ok && in != nil {
		var err error
		if raw, err = json.Marshal(in); err != nil {
			return nil, err
		}
	}
	r, err := http.NewRequestWithContext(ctx, method, "http://"+a.address+"/admin/v1"+path, bytes.NewReader(raw))
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+a.token)
	if raw != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	answer, err := http.DefaultClient.Do(r)
	if op, ok := errors.AsType[*net.OpError](err); ok && op.Op == "dial" {
		return nil, fmt.Errorf("no server answers at %s (%w); start it, or set --ops-listen to the operations address that it printed", a.address, op.Err)
	}
	if err != nil {
		return nil, err
	}
	if answer.StatusCode < http.StatusBadRequest {
		return answer.Body, nil
	}
	defer answer.Body.Close()
	return nil, a.refusal(answer)
}

// remove deletes a resource of the admin API and prints done.
func remove(flags *cli, to console, path, done string) error {
	return withAdmin(flags, func(ctx context.Context, a adminClient) error {
		body, err := a.open(ctx, http.MethodDelete, path, nil)
		if err != nil {
			return err
		}
		fmt.Fprintln(to.out, done)
		return body.Close()
	})
}

// refusal converts an error response to an error.
func (a adminClient) refusal(answer *http.Response) error {
	var problem struct{ Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("%s is not the operations address of a server of this version (%s)", a.address, answer.Status)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the server at %s has another key; use the same --data, --database or --config as the server", a.address)
	}
	return errors.New(problem.Detail)
}
