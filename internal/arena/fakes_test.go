package arena

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"

	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
)

var errDown = errors.New("the store is down")

// fakeBackend implements every dependency of a Service with maps, by their
// contracts.
type fakeBackend struct {
	mu              sync.Mutex
	matches         map[string]*fakeArena
	matchByCode     map[string]string // match by game/code
	retiredCodes    []string          // retired codes as game/code
	claimsToRefuse  int               // number of claims to refuse first
	matchByPlayer   map[string]string // match that occupies a player, by game/player
	ticketByPlayer  map[string]string // ticket by game/player
	isOverloaded    bool              // CheckOverload fails
	failingMethods  map[string]bool   // failing calls by method
	attached        []string          // attached sessions as match/player
	notifiedMatches []string          // matches passed to NotifyPlacesChanged
	sentFrames      []string          // "match/player frame", player * for all
	records         []Record          // oldest first
}

// fakeArena is a match with its places.
type fakeArena struct {
	plan         *match.Plan
	phase        match.Phase
	question     int
	endReason    match.Reason
	locked       bool
	seats        []match.Seat
	roles        map[string]match.Role // roles of watchers by player
	banned       map[string]bool
	hasLeft      map[string]bool
	proceedCalls []int // values of after passed to Proceed
	extra        []match.ExtraTime
}

func newFakeBackend() *fakeBackend {
	return &fakeBackend{
		matches: map[string]*fakeArena{}, matchByCode: map[string]string{}, matchByPlayer: map[string]string{},
		ticketByPlayer: map[string]string{}, failingMethods: map[string]bool{},
	}
}

// call locks the backend for a method. It also returns errDown if the test lets that
// method fail. The caller must call unlock in both cases.
func (f *fakeBackend) call(method string) (unlock func(), err error) {
	f.mu.Lock()
	if f.failingMethods[method] {
		err = errDown
	}
	return f.mu.Unlock, err
}

func (f *fakeBackend) ClaimCode(_ context.Context, game, code, id string) (bool, error) {
	unlock, err := f.call("ClaimCode")
	defer unlock()
	if f.claimsToRefuse > 0 || err != nil {
		f.claimsToRefuse--
		return false, err
	}
	f.matchByCode[game+"/"+code] = id
	return true, nil
}

func (f *fakeBackend) FindCode(_ context.Context, game, code string) (string, error) {
	unlock, err := f.call("FindCode")
	defer unlock()
	return f.matchByCode[game+"/"+code], err
}

func (f *fakeBackend) RetireCode(_ context.Context, game, code string) error {
	unlock, err := f.call("RetireCode")
	defer unlock()
	f.retiredCodes = append(f.retiredCodes, game+"/"+code)
	return err
}

// Occupy refuses a player who has a ticket, or a seat in another match that is not over.
func (f *fakeBackend) Occupy(_ context.Context, game, player, id string) error {
	unlock, err := f.call("Occupy")
	defer unlock()
	if err != nil {
		return err
	}
	key := game + "/" + player
	if f.ticketByPlayer[key] != "" {
		return protocol.Errorf(protocol.CodeAlreadyQueued, "the player has a ticket")
	}
	if other := f.matches[f.matchByPlayer[key]]; other != nil && f.matchByPlayer[key] != id && other.seatIndex(player) >= 0 && publicState(other.phase) != stateOver {
		return protocol.Errorf(protocol.CodeAlreadyPlaying, "the player is in %s", f.matchByPlayer[key])
	}
	f.matchByPlayer[key] = id
	return nil
}

func (f *fakeBackend) Free(_ context.Context, game, player, id string) error {
	unlock, err := f.call("Free")
	defer unlock()
	if err == nil && f.matchByPlayer[game+"/"+player] == id {
		delete(f.matchByPlayer, game+"/"+player)
	}
	return err
}

func (f *fakeBackend) CheckOverload() error {
	if f.isOverloaded {
		return match.ErrOverloaded
	}
	return nil
}

func (f *fakeBackend) CreateArena(_ context.Context, plan *match.Plan) error {
	unlock, err := f.call("CreateArena")
	defer unlock()
	if err != nil {
		return err
	}
	f.matches[plan.ID] = &fakeArena{
		plan: plan, phase: match.PhaseLobby, roles: map[string]match.Role{}, banned: map[string]bool{}, hasLeft: map[string]bool{},
	}
	return nil
}

func (f *fakeBackend) AddArena(_ context.Context, r Record) error {
	unlock, err := f.call("AddArena")
	defer unlock()
	if err == nil {
		f.records = append(f.records, r)
	}
	return err
}

func (f *fakeBackend) Arena(_ context.Context, game, id string) (Record, error) {
	unlock, err := f.call("Arena")
	defer unlock()
	for _, r := range f.records {
		if r.Game == game && r.Match == id {
			return r, err
		}
	}
	return Record{}, cmp.Or(err, match.ErrNotFound)
}

// ArenasOf returns one page. Its cursor is that of the call with >.
func (f *fakeBackend) ArenasOf(_ context.Context, game, host, cursor string, limit int) (page []Record, _ string, _ error) {
	unlock, err := f.call("ArenasOf")
	defer unlock()
	for _, r := range slices.Backward(f.records) {
		if r.Game == game && r.Host == host && len(page) < limit {
			page = append(page, r)
		}
	}
	return page, cursor + ">", err
}

func (f *fakeBackend) ReadArena(_ context.Context, id string) (match.View, error) {
	unlock, err := f.call("ReadArena")
	defer unlock()
	arena := f.matches[id]
	if err != nil {
		return match.View{}, err
	}
	if arena == nil {
		return match.View{}, match.ErrNotFound
	}
	view := match.View{Plan: arena.plan, State: match.State{Phase: arena.phase, Question: arena.question, EndReason: arena.endReason, Extra: arena.extra, Players: int64(len(arena.seats))}, Teams: map[string]match.TeamTotals{}}
	if arena.plan.Arena != nil {
		for _, team := range arena.plan.Arena.Teams {
			view.Teams[team.ID] = match.TeamTotals{Players: arena.countPlayers(team.ID)}
		}
	}
	return view, nil
}

func (f *fakeBackend) StartArena(_ context.Context, id string) error {
	unlock, err := f.call("StartArena")
	defer unlock()
	if arena := f.matches[id]; err == nil && arena.phase == match.PhaseLobby {
		arena.phase = match.PhaseCountdown
	}
	return err
}

func (f *fakeBackend) Proceed(_ context.Context, id string, after int) error {
	unlock, err := f.call("Proceed")
	defer unlock()
	f.matches[id].proceedCalls = append(f.matches[id].proceedCalls, after)
	return err
}

func (f *fakeBackend) CloseArena(_ context.Context, id string) error {
	unlock, err := f.call("CloseArena")
	defer unlock()
	if err == nil {
		f.matches[id].phase = match.PhaseOver
	}
	return err
}

func (f *fakeBackend) AttachFrom(_ context.Context, id, player string, _ int64) error {
	unlock, err := f.call("AttachFrom")
	defer unlock()
	if err == nil {
		f.attached = append(f.attached, id+"/"+player)
	}
	return err
}

func (f *fakeBackend) Expel(_ context.Context, id, player string, frame []byte) {
	unlock, _ := f.call("Expel")
	defer unlock()
	f.sentFrames = append(f.sentFrames, fmt.Sprintf("%s/%s %s", id, player, frame))
}

func (f *fakeBackend) Broadcast(_ context.Context, id string, frame []byte) {
	unlock, _ := f.call("Broadcast")
	defer unlock()
	f.sentFrames = append(f.sentFrames, fmt.Sprintf("%s/* %s", id, frame))
}

func (f *fakeBackend) NotifyPlacesChanged(id string) {
	unlock, _ := f.call("NotifyPlacesChanged")
	defer unlock()
	f.notifiedMatches = append(f.notifiedMatches, id)
}

// fakeBank has the questions q0 to q29, all in English, and as many in a game's
// bank "own".
type fakeBank struct{}

func (fakeBank) Count(source quiz.Source, filter quiz.Filter) int {
	if source.Bank != "" && source.Bank != "own" || filter.Lang != "" && filter.Lang != "en" || filter.Category != "" || filter.Difficulty != "" {
		return 0
	}
	return 30
}

func (b fakeBank) Draw(_ quiz.Source, _ quiz.Filter, count int, _ func(string) bool) ([]quiz.DrawnQuestion, error) {
	ids := make([]string, count)
	for i := range ids {
		ids[i] = fmt.Sprint("q", i)
	}
	return b.Pick(quiz.Source{}, ids)
}

func (fakeBank) Pick(source quiz.Source, ids []string) ([]quiz.DrawnQuestion, error) {
	picked := make([]quiz.DrawnQuestion, len(ids))
	for i, id := range ids {
		if id[0] != 'q' || source.Bank != "" && source.Bank != "own" {
			return nil, fmt.Errorf("%w: %q", quiz.ErrUnknownID, id)
		}
		picked[i].Question = &quiz.Question{ID: id}
	}
	return picked, nil
}

// Seat implements Players.
func (f *fakeBackend) Seat(_ context.Context, _, player string) (match.Seat, error) {
	unlock, err := f.call("Seat")
	defer unlock()
	return match.Seat{Player: player, Nickname: "Nick " + player, Rating: &match.Rating{R: 1500}}, err
}

// FindNamed implements Players.
func (f *fakeBackend) FindNamed(_ context.Context, _, nickname string) (string, error) {
	unlock, err := f.call("FindNamed")
	defer unlock()
	player, _ := strings.CutPrefix(nickname, "Nick ")
	return player, err
}

// toJSON returns a value as JSON, for comparisons and messages.
func toJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		return err.Error()
	}
	return string(raw)
}
