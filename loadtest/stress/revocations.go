package stress

import (
	"context"
	"errors"
	"net/http"
	"time"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	"laststand/loadtest/players"
)

// revocation is a ban or a revocation that an operator makes during the run.
type revocation struct {
	path, id  string // of the admin API, below the game
	body      object
	tokenID   string // claim jti; "": none
	closeCode int    // with which the server closes the live connection
}

// closeTimeout bounds the time until the server closes a live connection. A node reads
// new revocations once a second.
const closeTimeout = 10 * time.Second

// revokeTokens connects players. It then bans one, revokes the tokens of the others, and
// checks that the server closes all of them. It returns their tokens by reason. The
// server must refuse them from then on.
func (a *attacked) revokeTokens(ctx context.Context) (map[string]string, error) {
	issuedBefore := time.Now().Add(10 * time.Second).UnixMilli()
	tokens := map[string]string{}
	for _, v := range []revocation{
		{"bans", "bad_banned", object{"reason": "bots"}, "", protocol.CloseBanned},
		{"revocations/token", "bad_one", object{"reason": "lost"}, "bad_one", protocol.CloseUnauthorized},
		{"revocations/subject", "bad_all", object{"reason": "lost", "issued_before": issuedBefore}, "", protocol.CloseUnauthorized},
	} {
		claims := testenv.Claims("demo", "player", v.id)
		if v.tokenID != "" {
			claims["jti"] = v.tokenID
		}
		token, err := testenv.Sign(claims)
		if err == nil {
			err = a.revoke(ctx, v, token)
		}
		if err != nil {
			return nil, err
		}
		tokens["revoked by "+v.path] = token
	}
	return tokens, nil
}

// revoke makes one revocation while its player is connected.
func (a *attacked) revoke(ctx context.Context, v revocation, token string) error {
	n := a.cluster.nodes[0]
	live, err := players.Connect(ctx, n.URL, players.Guest{ID: v.id, Token: token}, nil)
	if err != nil {
		return err
	}
	defer live.Close()
	admin, err := n.AdminToken(ctx)
	if err != nil {
		return err
	}
	put := players.Call{Method: http.MethodPut, URL: n.OpsURL + "/admin/v1/games/demo/" + v.path + "/" + v.id, Token: admin, Body: v.body}
	if err := put.Do(ctx, new(any)); err != nil {
		return err
	}
	until := time.Now().Add(closeTimeout)
	for err == nil {
		_, err = live.Read(time.Until(until))
	}
	if players.CloseCode(err) != v.closeCode {
		a.checker.Violations.Add("a live connection, revoked by %s, ended with %v; it had to end with %d within %s",
			v.path, errors.Unwrap(err), v.closeCode, closeTimeout)
	}
	return nil
}
