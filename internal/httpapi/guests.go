package httpapi

import (
	"context"
	"net/http"

	"golang.org/x/text/language"

	"laststand/internal/identity"
	"laststand/internal/protocol"
)

// guestBody asks for a player. Arena is the code of the one that the player is
// about to join, which then bears the call.
type guestBody struct {
	Device   string `json:"device"`
	Nickname string `json:"nickname"`
	Arena    string `json:"arena"`
}

// maxGuestBody bounds a guestBody in bytes.
const maxGuestBody = 4 << 10

type guestAnswer struct {
	PlayerID  string `json:"player_id"`
	Nickname  string `json:"nickname"`
	Token     string `json:"token"`
	ExpiresAt int64  `json:"expires_at"`
}

func (a *api) postGuest(w http.ResponseWriter, r *request) error {
	if a.Draining() {
		return refuse(protocol.CodeUnavailable, "this node is about to stop; try again, another one answers")
	}
	var body guestBody
	if err := readBodyUpTo(maxGuestBody, w, r.Request, &body); err != nil {
		return err
	}
	g, err := a.Guests.Guest(r.Context(), identity.GuestRequest{
		Game: r.game, Device: body.Device, Nickname: body.Nickname, Lang: languageOf(r.Request), Address: a.from(r).String(),
		Admit: func(context.Context) error { return a.admitGuest(r, body.Arena) },
	})
	if err != nil {
		return err
	}
	status := http.StatusOK
	if g.New {
		status = http.StatusCreated
	}
	return answer(w, status, guestAnswer{g.Player.ID, g.Player.Nickname, g.Token, g.ExpiresAt})
}

// languages are those that nicknames are generated in.
var languages = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// languageOf is the browser's language for a generated nickname: en or zh-CN.
func languageOf(r *http.Request) string {
	if _, i := language.MatchStrings(languages, r.Header.Get("Accept-Language")); i == 1 {
		return "zh-CN"
	}
	return "en"
}

// asker is who asks for a nickname: the player whose token is sent, whoever is
// at the address else. A token that is none here makes nobody of them.
func (a *api) asker(r *request) identity.Asker {
	who := a.anybody(r)
	if claims, err := a.player(r); err == nil {
		who.Player = claims.Subject
	}
	return who
}

// anybody is who asks for a nickname as far as the connection tells.
func (a *api) anybody(r *request) identity.Asker {
	return identity.Asker{Address: a.from(r).String(), Lang: languageOf(r.Request)}
}

type nicknameAnswer struct {
	Nickname    string   `json:"nickname"`
	Available   bool     `json:"available"`
	Suggestions []string `json:"suggestions"`
}

func (a *api) getNickname(w http.ResponseWriter, r *request) error {
	got, err := a.Guests.Available(r.Context(), r.game, r.PathValue("name"), a.asker(r))
	if err != nil {
		return err
	}
	return answer(w, http.StatusOK, nicknameAnswer{got.Nickname, got.Available, list(got.Suggestions)})
}

type nicknameBody struct {
	Nickname *string `json:"nickname"`
}

func (a *api) putNickname(w http.ResponseWriter, r *request) error {
	claims, err := a.changer(r)
	if err != nil {
		return err
	}
	var body nicknameBody
	if err := readBody(w, r.Request, &body); err != nil {
		return err
	}
	if body.Nickname == nil {
		return badRequest("the body needs the field %q", "nickname")
	}
	who := a.anybody(r)
	who.Player = claims.Subject
	name, err := a.Guests.Rename(r.Context(), claims, *body.Nickname, who)
	if err != nil {
		return err
	}
	a.Boards.ForgetName(r.game, claims.Subject)
	return answer(w, http.StatusOK, map[string]string{"nickname": name})
}

// list is a slice that JSON shows as a list also when it is empty.
func list[T any](s []T) []T {
	if s == nil {
		return []T{}
	}
	return s
}
