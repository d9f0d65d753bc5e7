package httpapi

import (
	"context"
	"net/http"

	"golang.org/x/text/language"

	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/match"
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

func (h playerRoutes) postGuest(r *request, body *guestBody) (any, error) {
	requester := h.nicknameRequester(r, "")
	guest, err := h.Guests.Guest(r.Context(), identity.GuestRequest{
		Game: r.game, Device: body.Device, Nickname: body.Nickname, Lang: requester.Lang, Address: requester.Address,
		Admit: func(context.Context) error { return h.checkNewGuestLimits(r, body.Arena) },
	})
	status := http.StatusOK
	if guest.New {
		status = http.StatusCreated
	}
	return httpserver.Response{Status: status, Body: guestResponse{guest.Player.ID, guest.Player.Nickname, guest.Token, guest.ExpiresAt}}, err
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

// nicknameRequester identifies the client that asks for a nickname, by its address and
// its player; player may be "".
func (h playerRoutes) nicknameRequester(r *request, player string) identity.Requester {
	return identity.Requester{Player: player, Address: h.addressKey(r).String(), Lang: nicknameLanguage(r.Request)}
}

type nicknameResponse struct {
	Nickname    string   `json:"nickname"`
	Available   bool     `json:"available"`
	Suggestions []string `json:"suggestions"`
}

// getNickname needs no token. With a valid one, the player's own nickname is available.
func (h playerRoutes) getNickname(r *request) (any, error) {
	claims, err := h.authorize(r, playersOnly)
	if err != nil {
		claims.Subject = ""
	}
	availability, err := h.Guests.Available(r.Context(), r.game, r.PathValue("name"), h.nicknameRequester(r, claims.Subject))
	return nicknameResponse{availability.Nickname, availability.Available, nonNil(availability.Suggestions)}, err
}

type nicknameBody struct {
	Nickname *string `json:"nickname"`
}

func (h playerRoutes) putNickname(r *request, body *nicknameBody) (any, error) {
	if body.Nickname == nil {
		return nil, badRequest("the body has no field %q; add it", "nickname")
	}
	name, err := h.Guests.Rename(r.Context(), r.claims, *body.Nickname, h.nicknameRequester(r, r.claims.Subject))
	if err == nil {
		h.Boards.ForgetName(r.game, r.claims.Subject)
	}
	return map[string]string{"nickname": name}, err
}

func (h playerRoutes) deleteMe(r *request) (any, error) {
	if err := h.Limits.Erasures.Take(r.Context(), h.addressKey(r), 1); err != nil {
		return nil, err
	}
	return nil, h.Accounts.Erase(r.Context(), r.game, r.claims.Subject)
}

type accountBody struct {
	Token string `json:"token" need:"true"`
}

type accountResponse struct {
	PlayerID string `json:"player_id"`
	Account  string `json:"account"`
}

// putAccount links the guest of the bearer token to the account of the token in
// the body.
func (h playerRoutes) putAccount(r *request, body *accountBody) (any, error) {
	account, err := h.Accounts.LinkAccount(r.Context(), identity.LinkRequest{Guest: r.claims, Token: body.Token})
	return accountResponse{r.claims.Subject, account}, err
}

type deviceBody struct {
	Device    string `json:"device" need:"true"`
	NewDevice string `json:"new_device" need:"true"`
}

func (h playerRoutes) putDevice(r *request, body *deviceBody) (any, error) {
	change := identity.DeviceChange{Game: r.game, Player: r.claims.Subject, OldSecret: body.Device, NewSecret: body.NewDevice}
	return map[string]string{"player_id": r.claims.Subject}, h.Accounts.RotateDevice(r.Context(), change)
}

type profile struct {
	PlayerID string  `json:"player_id"`
	Nickname string  `json:"nickname"`
	Rating   int     `json:"rating"`
	Score    int64   `json:"score"`
	TimeMS   int64   `json:"time_ms"`
	Matches  int64   `json:"matches"`
	Asked    int64   `json:"asked"`
	Answered int64   `json:"answered"`
	Correct  int64   `json:"correct"`
	Accuracy float64 `json:"accuracy"`
	JoinedAt int64   `json:"joined_at"`
}

func (h playerRoutes) getPlayer(r *request) (any, error) {
	player, err := h.Players.Player(r.Context(), r.game, r.PathValue("player"))
	totals := player.Totals
	return profile{
		PlayerID: player.ID, Nickname: player.Nickname, Rating: player.Rating.Rounded(),
		Score: totals.Score, TimeMS: totals.TimeMS, Matches: totals.Matches,
		Asked: totals.Asked, Answered: totals.Answered, Correct: totals.Correct, Accuracy: totals.Accuracy(),
		JoinedAt: player.JoinedAt,
	}, err
}

type historyPage struct {
	Matches    []match.HistoryEntry `json:"matches"`
	NextCursor string               `json:"next_cursor,omitempty"`
}

func (h playerRoutes) getHistory(r *request, page paging) (any, error) {
	player := r.PathValue("player")
	if _, err := h.Players.Player(r.Context(), r.game, player); err != nil {
		return nil, err // unknown or erased: the matches stay, but the list of matches is gone
	}
	matches, next, err := h.History.Matches(r.Context(), r.game, player, page.cursor, page.limit)
	return historyPage{nonNil(matches), next}, err
}

// nonNil replaces a nil slice by an empty one, which JSON shows as [] instead
// of null.
func nonNil[T any](list []T) []T { return append([]T{}, list...) }
