package httpapi

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/arena"
	"laststand/internal/eventq"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/leaderboard/display"
	"laststand/internal/match"
	"laststand/internal/protocol"
	"laststand/internal/rating"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	start  = int64(1795212345678)       // the time of the fakes, epoch ms
	device = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1" // a valid device secret
	demo   = "/v1/games/demo"
)

var errStore = errors.New("dial tcp 10.1.2.3:5432: secret")

// fakeBackend implements all services behind the handler. If fail is set, all
// of them return it.
type fakeBackend struct {
	fail        error
	erased      map[string]bool      // erased players, by any of their ids
	tying       identity.LinkRequest // the last request to link an account
	device      identity.DeviceChange
	guest       identity.GuestRequest // the last request for a guest
	asker       identity.Requester    // the requester of the last nickname request
	query       leaderboard.Query     // the last query
	arena       arena.CreateRequest   // the last request for an arena
	code        string                // the last arena code that was looked up
	empty       bool                  // leaderboards have no entries, and Claim finds no tasks
	posts       []json.RawMessage     // the last behaviours
	taskRequest any                   // the last request to the task queue
}

func (w *fakeBackend) Verify(_ context.Context, token string) (identity.Claims, error) {
	c := identity.Claims{Subject: "p_1", Game: "demo", Role: identity.RolePlayer}
	switch token {
	case "good":
	case "host":
		c.Role = identity.RoleHost
	case "service":
		c.Role = identity.RoleService
	case "foreign":
		c.Game = "com.example.quiz"
	case "account": // the account of p_1
		c.Subject = "op:1"
	case "banned":
		return identity.Claims{}, &identity.BannedError{Reason: "two accounts", EndsAt: start}
	default:
		return identity.Claims{}, identity.ErrTokenExpired
	}
	return c, nil
}

func (w *fakeBackend) Ensure(_ context.Context, c identity.Claims) (identity.Player, error) {
	if w.erased["p_1"] {
		return identity.Player{}, identity.ErrErased
	}
	return identity.Player{Game: c.Game, ID: "p_1"}, nil
}

func (w *fakeBackend) CheckHost(_ context.Context, c identity.Claims) error {
	if w.erased[c.Subject] {
		return identity.ErrErased
	}
	return nil
}

func (w *fakeBackend) Erase(_ context.Context, _, player string) error {
	if w.fail == nil {
		w.erased = map[string]bool{player: true}
	}
	return w.fail
}

func (w *fakeBackend) RotateDevice(_ context.Context, c identity.DeviceChange) error {
	w.device = c
	return w.fail
}

func (w *fakeBackend) LinkAccount(_ context.Context, t identity.LinkRequest) (string, error) {
	w.tying = t
	return "op:1", w.fail
}

func (w *fakeBackend) Guest(ctx context.Context, r identity.GuestRequest) (identity.Guest, error) {
	w.guest = r
	w.guest.Admit = nil // a callback, not part of the request
	if r.Nickname != "" {
		if err := r.Admit(ctx); err != nil {
			return identity.Guest{}, err
		}
	}
	g := identity.Guest{
		Player: identity.Player{ID: "p_1", Nickname: "Ada"}, Token: "a.b.c", ExpiresAt: start, New: r.Nickname != "",
	}
	return g, w.fail
}

func (w *fakeBackend) Available(_ context.Context, _, name string, asker identity.Requester) (identity.Availability, error) {
	w.asker = asker
	if name == "Taken" {
		return identity.Availability{Nickname: name, Suggestions: []string{"A-1", "A-2", "A-3"}}, w.fail
	}
	return identity.Availability{Nickname: name, Available: true}, w.fail
}

func (w *fakeBackend) Rename(_ context.Context, _ identity.Claims, name string, asker identity.Requester) (string, error) {
	w.asker = asker
	return name, w.fail
}

func (w *fakeBackend) Player(_ context.Context, game, id string) (identity.Player, error) {
	if id != "p_1" && id != "p_new" || w.erased[id] {
		return identity.Player{}, identity.ErrNotFound
	}
	p := identity.Player{Game: game, ID: id, Nickname: "Ada", JoinedAt: start}
	if id == "p_1" {
		p.Rating, p.Totals = rating.Rating{R: 1516.5, RD: 90, Sigma: 0.06}, parts
	}
	return p, w.fail
}

// totals has an accuracy of 0.90488…, which is shown as 0.9049.
var parts = leaderboard.Aggregates{Score: 41000, TimeMS: 812345, Matches: 41, Asked: 410, Answered: 405, Correct: 371}

func (w *fakeBackend) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		names[id] = "Nick " + id
	}
	return names, w.fail
}

func (w *fakeBackend) TeamNames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		names[id] = "Team " + id
	}
	return names, w.fail
}

func (w *fakeBackend) Matches(_ context.Context, _, player, cursor string, _ int) ([]match.HistoryEntry, string, error) {
	switch {
	case w.fail != nil:
		return nil, "", w.fail
	case cursor == "bad":
		return nil, "", match.ErrBadCursor
	case player != "p_1":
		return nil, "", nil
	}
	return []match.HistoryEntry{{Match: "m_1", Mode: match.Duel, OverAt: start, Rank: 1, Score: 1642, Correct: 9, Players: 2}}, "next", nil
}

func (w *fakeBackend) Match(_ context.Context, game, id string) (match.Summary, error) {
	if w.fail != nil || id != "m_1" && id != "m_teams" {
		return match.Summary{}, errors.Join(w.fail, match.ErrNotFound)
	}
	m := match.Summary{
		Match: id, Game: game, Mode: match.Duel, StartedAt: start, OverAt: start + 1000,
		Reason: match.ReasonFinished, Questions: 10, CountsForLeaderboards: true, Players: 3,
	}
	if id == "m_teams" {
		m.Mode = match.Buzzer
		m.Teams = []match.TeamResult{{Rank: 1, ID: "north", Score: 1}, {Rank: 2, ID: "south"}}
		m.Firsts = []match.First{{Question: 3, Player: "p_1", Nickname: w.called("p_1", "Ada"), Team: "north", ArrivedAt: start, ElapsedMS: 87, Node: "n1"}}
	}
	return m, nil
}

func (w *fakeBackend) Standings(_ context.Context, _ match.Summary, from, to int) (page []protocol.OverStanding, _ error) {
	for i, p := range []string{"p_1", "p_2", "p_3"}[from:to] {
		page = append(page, protocol.OverStanding{
			Rank: from + i + 1, Player: p, Nickname: w.called(p, "Nick "+p), Score: 1642, Correct: 9, Answered: 10, Asked: 10, TimeMS: 43210,
		})
	}
	if from == 0 {
		page[0].Rating, page[0].RatingDelta = new(int), new(int)
		*page[0].Rating, *page[0].RatingDelta = 1516, 16
	}
	return page, w.fail
}

// shownNickname returns the nickname of a player; an erased player has none.
func (w *fakeBackend) called(player, nickname string) string {
	if w.erased[player] {
		return ""
	}
	return nickname
}

func (w *fakeBackend) Create(_ context.Context, c arena.CreateRequest) (protocol.ArenaMade, error) {
	w.arena = c
	if w.fail != nil {
		return protocol.ArenaMade{}, w.fail
	}
	return protocol.ArenaMade{ArenaID: "a_1", Code: "402951"}, nil
}

func (w *fakeBackend) Show(_ context.Context, _, code string) (protocol.ArenaLook, error) {
	w.code = code
	if w.fail != nil {
		return protocol.ArenaLook{}, w.fail
	}
	if code != "402951" {
		return protocol.ArenaLook{}, protocol.Errorf(protocol.CodeNotFound, "there is no such arena")
	}
	return protocol.ArenaLook{ArenaID: "a_1", Name: "Cup", Mode: "survival", State: "lobby", Players: 3}, nil
}

// FindJoinInfo finds an arena of 3 players for the code 402951 and for each
// code that ends with 7. The arena of the code 000001 is over.
func (w *fakeBackend) FindJoinInfo(ctx context.Context, game, code string) (arena.JoinInfo, error) {
	if code == "000001" && w.fail == nil {
		return arena.JoinInfo{ID: "a_0", MaxPlayers: 3, IsOver: true}, nil
	}
	if strings.HasSuffix(code, "7") {
		return arena.JoinInfo{ID: "a_" + code, MaxPlayers: 3}, nil
	}
	look, err := w.Show(ctx, game, code)
	return arena.JoinInfo{ID: look.ArenaID, MaxPlayers: 3}, err
}

// Post drops everything that is not a JSON object.
func (w *fakeBackend) Post(_ context.Context, game string, bodies []json.RawMessage) (eventq.PostResult, error) {
	if w.fail != nil || game != "demo" {
		return eventq.PostResult{}, w.fail
	}
	w.posts = bodies
	p := eventq.PostResult{Accepted: len(bodies)}
	for _, body := range bodies {
		if json.Unmarshal(body, &map[string]any{}) == nil && string(body) != "null" {
			continue
		}
		if p.Dropped == nil {
			p.Dropped = map[eventq.Reason]int{}
		}
		p.Accepted--
		p.Dropped[eventq.Invalid]++
	}
	return p, nil
}

func (w *fakeBackend) Listing(context.Context, string) (leaderboard.Listing, error) {
	return leaderboard.Listing{
		Windows: []leaderboard.ListedWindow{{ID: leaderboard.All, Orders: leaderboard.Orders()}},
		Kinds:   leaderboard.Kinds(), TimeZone: "UTC", Day: "2026-11-20",
	}, w.fail
}

var entry = leaderboard.Entry{
	Rank: 1, ID: "p_1", Value: 41000, Score: 41000, TimeMS: 812345, Matches: 41,
	Asked: 410, Answered: 405, Correct: 371, Accuracy: 0.9049,
}

func (w *fakeBackend) Top(ctx context.Context, game string, q leaderboard.Query) (leaderboard.TopPage, error) {
	p, err := w.Page(ctx, game, q)
	return leaderboard.TopPage{Page: p}, err
}

func (w *fakeBackend) Page(_ context.Context, game string, q leaderboard.Query) (leaderboard.Page, error) {
	w.query = q
	if q.Kind != "" && !slices.Contains(leaderboard.Kinds(), q.Kind) { // like the real reader
		return leaderboard.Page{}, fmt.Errorf("%w: kind", leaderboard.ErrBadQuery)
	}
	page := leaderboard.Page{Game: game, Window: q.Window, Order: leaderboard.ByValue, From: "2026-11-14", To: "2026-11-20"}
	if !w.empty {
		page.AsOf, page.Total, page.NextCursor, page.PrevCursor = start, 3, "n", "p"
		page.Entries = []leaderboard.Entry{entry}
	} else {
		page.Entries = []leaderboard.Entry{}
	}
	return page, w.fail
}

func (w *fakeBackend) Standing(_ context.Context, _ string, q leaderboard.StandingQuery) (leaderboard.Standing, error) {
	next := 12.5
	s := leaderboard.Standing{Entry: entry, Total: 3, Percentile: 66.6, ToNext: &next}
	if q.Explain {
		s.Explain = &leaderboard.Explanation{
			Terms: leaderboard.Explain(parts, leaderboard.DefaultWeights),
			Tie:   &leaderboard.Tie{SharedBy: 2, Place: 1, Position: 17},
		}
	}
	return s, w.fail
}

// newAnswer returns the display of a backend, at 12 h after start.
func newAnswer(w interface {
	display.Reader
	leaderboard.NameSource
}) *display.Display {
	return display.New(display.Config{
		Reader: w, Names: w, Now: func() int64 { return start + 12*time.Hour.Milliseconds() }, Registry: prometheus.NewRegistry(),
	})
}

// newTestConfig returns a complete configuration that uses a backend. Tests change
// the fields that they are about.
func configOf(w *fakeBackend) Config {
	return Config{
		Games: []string{"demo"}, Tokens: w, Guests: w, Accounts: w, Players: w, History: w, Boards: newAnswer(w), Arenas: w, Behaviours: w, Tasks: w,
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Websocket:   http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) }),
		Page:        http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("page " + r.URL.Path)) }),
		IsStoreDown: func(err error) bool { return errors.Is(err, errStore) },
		Version:     "0.1.0",
	}
}

// call is one request; headers are "Name: value".
type call struct {
	method, target, body string
	headers              []string
}

// getCall is a GET call without a body.
func get(target string) call { return call{method: http.MethodGet, target: target} }

// jsonCall is a call with a JSON body.
func send(method, target, body string, headers ...string) call {
	return call{method, target, body, append(headers, "Content-Type: application/json")}
}

func (c call) request(t testing.TB) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), c.method, "http://quiz.example"+c.target, strings.NewReader(c.body))
	for _, h := range c.headers {
		name, value, _ := strings.Cut(h, ": ")
		r.Header.Add(name, value)
	}
	return r
}

// serve handles a call and checks the response against the contract.
func serve(t testing.TB, h http.Handler, c call) *httptest.ResponseRecorder {
	t.Helper()
	rec := httptest.NewRecorder()
	r := c.request(t)
	h.ServeHTTP(rec, r)
	checkResponse(t, r, rec)
	return rec
}

// renamingBackend has one name for all players. Rename changes it.
type renamingBackend struct {
	*fakeBackend
	name string
}

func (r *renamingBackend) Rename(_ context.Context, _ identity.Claims, name string, _ identity.Requester) (string, error) {
	r.name = name
	return name, nil
}

func (r *renamingBackend) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		names[id] = r.name
	}
	return names, nil
}
