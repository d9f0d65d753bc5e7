package httpapi

import (
	"context"
	"net/http"

	"golang.org/x/text/language"

	"laststand/internal/httpserver"
	"laststand/internal/identity"
)

// guestBody is the body of a registration. Arena is "" or the join code of the
// arena that the guest is going to join: then the limits of that arena apply, see
// checkNewGuestLimits.
type guestBody struct {
	Device   string `json:"device"`
	Nickname string `json:"nickname"`
	Arena    string `json:"arena"`
}

// maxGuestBody is the largest guestBody in bytes.
const maxGuestBody = 4 << 10

type guestResponse struct {
	PlayerID  string `json:"player_id"`
	Nickname  string `json:"nickname"`
	Token     string `json:"token"`
	ExpiresAt int64  `json:"expires_at"`
}

func (h playerRoutes) postGuest(r *request) (any, error) {
	if h.IsDraining() {
		return nil, errDraining
	}
	var body guestBody
	if err := r.readBodyLimited(maxGuestBody, &body); err != nil {
		return nil, err
	}
	guest, err := h.Guests.Guest(r.Context(), identity.GuestRequest{
		Game: r.game, Device: body.Device, Nickname: body.Nickname, Lang: nicknameLanguage(r.Request), Address: h.addressKey(r).String(),
		Admit: func(context.Context) error { return h.checkNewGuestLimits(r, body.Arena) },
	})
	if err != nil {
		return nil, err
	}
	status := http.StatusOK
	if guest.New {
		status = http.StatusCreated
	}
	return httpserver.Response{Status: status, Body: guestResponse{guest.Player.ID, guest.Player.Nickname, guest.Token, guest.ExpiresAt}}, nil
}

// languages are the languages of generated nicknames.
var languages = language.NewMatcher([]language.Tag{language.English, language.SimplifiedChinese})

// nicknameLanguage returns the language for a generated nickname, en or zh-CN,
// from the Accept-Language header.
func nicknameLanguage(r *http.Request) string {
	if _, i := language.MatchStrings(languages, r.Header.Get("Accept-Language")); i == 1 {
		return "zh-CN"
	}
	return "en"
}

// nicknameRequester identifies the client that asks for a nickname: by its player
// if it sends a valid token, and always by its address.
func (h playerRoutes) nicknameRequester(r *request) identity.Requester {
	requester := h.anonymousRequester(r)
	if claims, err := h.authenticatePlayer(r); err == nil {
		requester.Player = claims.Subject
	}
	return requester
}

// anonymousRequester identifies the client by its address only.
func (h playerRoutes) anonymousRequester(r *request) identity.Requester {
	return identity.Requester{Address: h.addressKey(r).String(), Lang: nicknameLanguage(r.Request)}
}

type nicknameResponse struct {
	Nickname    string   `json:"nickname"`
	Available   bool     `json:"available"`
	Suggestions []string `json:"suggestions"`
}

func (h playerRoutes) getNickname(r *request) (any, error) {
	availability, err := h.Guests.Available(r.Context(), r.game, r.PathValue("name"), h.nicknameRequester(r))
	if err != nil {
		return nil, err
	}
	return nicknameResponse{availability.Nickname, availability.Available, nonNil(availability.Suggestions)}, nil
}

type nicknameBody struct {
	Nickname *string `json:"nickname"`
}

func (h playerRoutes) putNickname(r *request) (any, error) {
	claims, err := h.authenticateChange(r)
	if err != nil {
		return nil, err
	}
	var body nicknameBody
	if err := r.readBody(&body); err != nil {
		return nil, err
	}
	if body.Nickname == nil {
		return nil, badRequest("the body has no field %q; add it", "nickname")
	}
	requester := h.anonymousRequester(r)
	requester.Player = claims.Subject
	name, err := h.Guests.Rename(r.Context(), claims, *body.Nickname, requester)
	if err != nil {
		return nil, err
	}
	h.Boards.ForgetName(r.game, claims.Subject)
	return map[string]string{"nickname": name}, nil
}

// nonNil replaces a nil slice by an empty one, which JSON shows as [] instead
// of null.
func nonNil[T any](list []T) []T {
	if list == nil {
		return []T{}
	}
	return list
}
