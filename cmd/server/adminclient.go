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

// adminClient speaks to the admin API of the running server, with a token of
// the server's own key.
type adminClient struct {
	address string // of the server, for people
	token   string
}

// adminTTL is how long a command may take: the token that it got at its start
// lasts so long.
const adminTTL = time.Hour

// withAdmin runs a command that the running server carries out.
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

// reachable is an address at which a server on this machine is reached that
// listens on all of them.
func reachable(listen string) string {
	host, port, err := net.SplitHostPort(listen)
	if ip := net.ParseIP(host); err == nil && (host == "" || ip != nil && ip.IsUnspecified()) {
		return net.JoinHostPort("localhost", port)
	}
	return listen
}

// call asks for a path below /admin/v1 and reads the answer into out. in is
// the body: bytes of JSON as they are, nil for none, or what is to be encoded.
func (a adminClient) call(ctx context.Context, method, path string, in, out any) error {
	body, err := a.open(ctx, method, path, in)
	if err != nil {
		return err
	}
	defer body.Close()
	if err := json.NewDecoder(body).Decode(out); err != nil {
		return fmt.Errorf("the answer of the server at %s cannot be read: %w", a.address, err)
	}
	return nil
}

// open asks and gives the body of an answer that is no error; the caller
// closes it.
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
		return nil, fmt.Errorf("no server answers at %s (%w): start it, or name the operations address that it printed with --ops-listen", a.address, op.Err)
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

// refusal is what the server says against a request.
func (a adminClient) refusal(answer *http.Response) error {
	var problem struct{ Detail string }
	if err := json.NewDecoder(answer.Body).Decode(&problem); err != nil || problem.Detail == "" {
		return fmt.Errorf("%s is no operations address of this version's server (%s)", a.address, answer.Status)
	}
	if answer.StatusCode == http.StatusUnauthorized {
		return fmt.Errorf("the server at %s has another key: give this command the --data, --database or --config of the server", a.address)
	}
	return errors.New(problem.Detail)
}
