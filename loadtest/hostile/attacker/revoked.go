package attacker

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"laststand/internal/protocol"
	"laststand/internal/testenv"
	player "laststand/loadtest/client"
)

// revokedToken is a ban or a revocation that an operator makes during the run.
type revokedToken struct {
	path, id, body string         // of the admin API, below the game
	claims         map[string]any // of the token, in addition to the usual ones
	code           int            // the code with which the server closes the live connection
}

// closedWithin bounds the time until the server closes a live connection. A node reads
// new revocations once a second.
const closedWithin = 10 * time.Second

// revokeTokens connects players. It then bans one, revokes the tokens of the others, and
// checks that the server closes all of them. It returns their tokens, which must be
// useless from then on.
func (s *runner) revokeTokens(ctx context.Context) (map[string]string, error) {
	soon := time.Now().Add(10 * time.Second).UnixMilli()
	tokens := map[string]string{}
	for _, b := range []revokedToken{
		{"bans", "bad_banned", `{"reason":"bots"}`, nil, protocol.CloseBanned},
		{"revocations/token", "bad_one", `{"reason":"lost"}`, map[string]any{"jti": "bad_one"}, protocol.CloseUnauthorized},
		{"revocations/subject", "bad_all", fmt.Sprintf(`{"reason":"lost","issued_before":%d}`, soon), nil, protocol.CloseUnauthorized},
	} {
		claims := testenv.Claims("demo", "player", b.id)
		for name, value := range b.claims {
			claims[name] = value
		}
		token, err := testenv.Sign(claims)
		if err != nil {
			return nil, err
		}
		if err := s.revokeToken(ctx, b, token); err != nil {
			return nil, err
		}
		tokens["barred by "+b.path] = token
	}
	return tokens, nil
}

func (s *runner) revokeToken(ctx context.Context, b revokedToken, token string) error {
	live, err := player.Connect(ctx, s.Server.URL, player.Guest{ID: b.id, Token: token}, nil)
	if err != nil {
		return err
	}
	defer live.Close()
	r, err := http.NewRequestWithContext(ctx, http.MethodPut, s.Server.Ops+"/admin/v1/games/demo/"+b.path+"/"+b.id, strings.NewReader(b.body))
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+s.Admin)
	r.Header.Set("Content-Type", "application/json")
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("%s was answered with %s", b.path, answer.Status)
	}
	until := time.Now().Add(closedWithin)
	for err == nil {
		_, err = live.Read(time.Until(until))
	}
	if why, ok := errors.AsType[*websocket.CloseError](err); !ok || why.Code != b.code {
		s.report.addViolations(fmt.Sprintf("a live connection, barred by %s, ended with %v, and %d was due within %s", b.path, err, b.code, closedWithin))
	}
	return nil
}
