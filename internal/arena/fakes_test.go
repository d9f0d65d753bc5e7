package arena

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"

	"laststand/internal/match"
	"laststand/internal/quiz"
	"laststand/internal/rating"
)

var errDown = errors.New("the store is down")

// fakeBackend implements every dependency of a Service with maps, by their
// contracts.
type fakeBackend struct {
	mu      sync.Mutex
	matches map[string]*fakeArena
	codes   map[string]string // match by game/code
	rested  []string          // retired codes as game/code
	taken   int               // number of claims to refuse first
	busy    map[string]string // match of a player, by game/player
	tickets map[string]string // ticket by game/player
	forming map[string]bool   // matches that do not exist yet
	full    bool              // CheckOverload fails
	fails   map[string]bool   // failing calls by method
	entered []string          // attached sessions as match/player
	moved   []string          // matches passed to NotifyPlacesChanged
	sent    []string          // "match/player frame", player * for all
}

// fakeArena is a match with its places.
type fakeArena struct {
	plan   *match.Plan
	phase  match.Phase
	locked bool
	seats  []match.Seat
	roles  map[string]match.Role // roles of watchers by player
	banned map[string]bool
	left   map[string]bool
	asked  []int // values of after passed to Proceed
}

func newFakeBackend() *fakeBackend {
	return &fakeBackend{
		matches: map[string]*fakeArena{}, codes: map[string]string{}, busy: map[string]string{},
		tickets: map[string]string{}, forming: map[string]bool{}, fails: map[string]bool{},
	}
}

// call locks the backend for a method, or returns the failure that the test has
// set for it.
func (h *fakeBackend) call(method string) (unlock func(), err error) {
	h.mu.Lock()
	if h.fails[method] {
		err = errDown
	}
	return h.mu.Unlock, err
}

func (h *fakeBackend) ClaimCode(_ context.Context, game, code, id string) (bool, error) {
	unlock, err := h.call("ClaimCode")
	defer unlock()
	if h.taken > 0 || err != nil {
		h.taken--
		return false, err
	}
	h.codes[game+"/"+code] = id
	return true, nil
}

func (h *fakeBackend) FindCode(_ context.Context, game, code string) (string, error) {
	unlock, err := h.call("FindCode")
	defer unlock()
	return h.codes[game+"/"+code], err
}

func (h *fakeBackend) RetireCode(_ context.Context, game, code string) error {
	unlock, err := h.call("RetireCode")
	defer unlock()
	h.rested = append(h.rested, game+"/"+code)
	return err
}

func (h *fakeBackend) Occupy(_ context.Context, game, player, id, former string) (string, bool, error) {
	unlock, err := h.call("Occupy")
	defer unlock()
	key := game + "/" + player
	switch b := h.busy[key]; {
	case err != nil:
		return "", false, err
	case h.tickets[key] != "":
		return h.tickets[key], true, nil
	case b != "" && b != id && (b != former || h.forming[b]):
		return b, false, nil
	}
	h.busy[key] = id
	return "", false, nil
}

func (h *fakeBackend) Free(_ context.Context, game, player, id string) error {
	unlock, err := h.call("Free")
	defer unlock()
	if err == nil && h.busy[game+"/"+player] == id {
		delete(h.busy, game+"/"+player)
	}
	return err
}

func (h *fakeBackend) CheckOverload() error {
	if h.full {
		return match.ErrOverloaded
	}
	return nil
}

func (h *fakeBackend) CreateArena(_ context.Context, p *match.Plan) error {
	unlock, err := h.call("CreateArena")
	defer unlock()
	if err != nil {
		return err
	}
	h.matches[p.ID] = &fakeArena{
		plan: p, phase: match.Lobby, roles: map[string]match.Role{}, banned: map[string]bool{}, left: map[string]bool{},
	}
	return nil
}

func (h *fakeBackend) ReadArena(_ context.Context, id string) (match.View, error) {
	unlock, err := h.call("ReadArena")
	defer unlock()
	m := h.matches[id]
	if err != nil {
		return match.View{}, err
	}
	if m == nil {
		return match.View{}, match.ErrNotFound
	}
	v := match.View{Plan: m.plan, State: match.State{Phase: m.phase, Players: int64(len(m.seats))}, Teams: map[string]match.TeamTotals{}}
	if m.plan.Arena != nil {
		for _, t := range m.plan.Arena.Teams {
			v.Teams[t.ID] = match.TeamTotals{Players: m.players(t.ID)}
		}
	}
	return v, nil
}

func (h *fakeBackend) CheckSeat(_ context.Context, id, player string) error {
	unlock, err := h.call("CheckSeat")
	defer unlock()
	if m := h.matches[id]; err == nil && (m == nil || m.seat(player) < 0) {
		return match.ErrNotFound
	}
	return err
}

func (h *fakeBackend) StartArena(_ context.Context, id string) error {
	unlock, err := h.call("StartArena")
	defer unlock()
	if m := h.matches[id]; err == nil && m.phase == match.Lobby {
		m.phase = match.Countdown
	}
	return err
}

func (h *fakeBackend) Proceed(_ context.Context, id string, after int) error {
	unlock, err := h.call("Proceed")
	defer unlock()
	h.matches[id].asked = append(h.matches[id].asked, after)
	return err
}

func (h *fakeBackend) CloseArena(_ context.Context, id string) error {
	unlock, err := h.call("CloseArena")
	defer unlock()
	if err == nil {
		h.matches[id].phase = match.Over
	}
	return err
}

func (h *fakeBackend) AttachFrom(_ context.Context, id, player string, _ int64) error {
	unlock, err := h.call("AttachFrom")
	defer unlock()
	if err == nil {
		h.entered = append(h.entered, id+"/"+player)
	}
	return err
}

func (h *fakeBackend) Expel(_ context.Context, id, player string, frame []byte) {
	unlock, _ := h.call("Expel")
	defer unlock()
	h.sent = append(h.sent, fmt.Sprintf("%s/%s %s", id, player, frame))
}

func (h *fakeBackend) Broadcast(_ context.Context, id string, frame []byte) {
	unlock, _ := h.call("Broadcast")
	defer unlock()
	h.sent = append(h.sent, fmt.Sprintf("%s/* %s", id, frame))
}

func (h *fakeBackend) NotifyPlacesChanged(id string) {
	unlock, _ := h.call("NotifyPlacesChanged")
	defer unlock()
	h.moved = append(h.moved, id)
}

// fakeBank has the questions q0 to q29, all in English, and as many in a game's
// bank "own".
type fakeBank struct{}

func (fakeBank) Count(_ string, w Filter) int {
	if w.Bank != "" && w.Bank != "own" || w.Lang != "" && w.Lang != "en" || w.Category != "" || w.Difficulty != "" {
		return 0
	}
	return 30
}

func (s fakeBank) Draw(game string, _ Filter, count int) ([]quiz.Drawn, error) {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprint("q", i)
	}
	return s.Pick(game, "", ids, true)
}

func (fakeBank) Pick(_, bank string, ids []string, _ bool) ([]quiz.Drawn, error) {
	picked := make([]quiz.Drawn, len(ids))
	for i, id := range ids {
		if id[0] != 'q' || bank != "" && bank != "own" {
			return nil, fmt.Errorf("%w: %q", ErrUnknownQuestion, id)
		}
		picked[i].Question = &quiz.Question{ID: id}
	}
	return picked, nil
}

// Seat implements Players.
func (h *fakeBackend) Seat(_ context.Context, _, player string) (match.Seat, error) {
	unlock, err := h.call("Seat")
	defer unlock()
	return match.Seat{Player: player, Nickname: "Nick " + player, Rating: &rating.Rating{R: 1500}}, err
}

// encoded returns a value as JSON, for comparisons and messages.
func encoded(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
