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

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/eventq"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/match"
	"laststand/internal/overload"
	"laststand/internal/protocol"
	"laststand/internal/quiz"
	"laststand/internal/testenv"
)

func TestMain(m *testing.M) { testenv.Main(m) }

const (
	startTime = int64(1795212345678)       // the time of the fakes, epoch ms
	device    = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1" // a valid device secret
	demoPath  = "/v1/games/demo"
)

var errStore = errors.New("dial tcp 10.1.2.3:5432: secret")

// fakeBackend implements all services behind the handler. If fail is set, all
// of them return it.
type fakeBackend struct {
	fail        error
	erased      map[string]bool      // erased players, by any of their ids
	linkRequest identity.LinkRequest // the last request to link an account
	device      identity.DeviceChange
	guest       identity.GuestRequest // the last request for a guest
	requester   identity.Requester    // the requester of the last nickname request
	query       leaderboard.Query     // the last query
	arena       arena.CreateRequest   // the last request for an arena
	code        string                // the last arena code that was looked up
	empty       bool                  // leaderboards have no entries, and Claim finds no tasks
	posts       []json.RawMessage     // the last behaviours
	taskRequest any                   // the last request to the task queue
	void        answers.Void          // the last question made void
}

func (b *fakeBackend) Verify(_ context.Context, token string) (identity.Claims, error) {
	c := identity.Claims{Subject: "p_1", Game: "demo", Role: identity.RolePlayer}
	switch token {
	case "good":
	case "stranger":
		c.Subject = "p_2"
	case "host":
		c.Role = identity.RoleHost
	case "service":
		c.Role = identity.RoleService
	case "foreign":
		c.Game = "com.example.quiz"
	case "account": // the account of p_1
		c.Subject = "op:1"
	case "banned":
		return identity.Claims{}, &identity.BannedError{Reason: "two accounts", EndsAt: startTime}
	default:
		return identity.Claims{}, identity.ErrTokenExpired
	}
	return c, nil
}

func (b *fakeBackend) Ensure(_ context.Context, c identity.Claims) (identity.Player, error) {
	if b.erased["p_1"] {
		return identity.Player{}, identity.ErrErased
	}
	if c.Subject == "p_2" {
		return identity.Player{Game: c.Game, ID: "p_2"}, nil
	}
	return identity.Player{Game: c.Game, ID: "p_1"}, nil
}

func (b *fakeBackend) CheckHost(_ context.Context, c identity.Claims) error {
	if b.erased[c.Subject] {
		return identity.ErrErased
	}
	return nil
}

func (b *fakeBackend) Erase(_ context.Context, _, player string) error {
	if b.fail == nil {
		b.erased = map[string]bool{player: true}
	}
	return b.fail
}

func (b *fakeBackend) RotateDevice(_ context.Context, change identity.DeviceChange) error {
	b.device = change
	return b.fail
}

func (b *fakeBackend) LinkAccount(_ context.Context, request identity.LinkRequest) (string, error) {
	b.linkRequest = request
	return "op:1", b.fail
}

func (b *fakeBackend) Guest(ctx context.Context, r identity.GuestRequest) (identity.Guest, error) {
	b.guest = r
	b.guest.Admit = nil // a callback, not part of the request
	if r.Nickname != "" {
		if err := r.Admit(ctx); err != nil {
			return identity.Guest{}, err
		}
	}
	g := identity.Guest{
		Player: identity.Player{ID: "p_1", Nickname: "Ada"}, Token: "a.b.c", ExpiresAt: startTime, New: r.Nickname != "",
	}
	return g, b.fail
}

func (b *fakeBackend) Available(_ context.Context, _, name string, requester identity.Requester) (identity.Availability, error) {
	b.requester = requester
	if name == "Taken" {
		return identity.Availability{Nickname: name, Suggestions: []string{"A-1", "A-2", "A-3"}}, b.fail
	}
	return identity.Availability{Nickname: name, Available: true}, b.fail
}

func (b *fakeBackend) Rename(_ context.Context, _ identity.Claims, name string, requester identity.Requester) (string, error) {
	b.requester = requester
	return name, b.fail
}

func (b *fakeBackend) Player(_ context.Context, game, id string) (identity.Player, error) {
	if id != "p_1" && id != "p_new" || b.erased[id] {
		return identity.Player{}, identity.ErrNotFound
	}
	p := identity.Player{Game: game, ID: id, Nickname: "Ada", JoinedAt: startTime}
	if id == "p_1" {
		p.Rating, p.Totals = match.Rating{R: 1516.5, RD: 90, Sigma: 0.06}, totals
	}
	return p, b.fail
}

// totals has an accuracy of 0.90488…, which is shown as 0.9049.
var totals = leaderboard.Aggregates{Score: 41000, TimeMS: 812345, Matches: 41, Asked: 410, Answered: 405, Correct: 371}

func (b *fakeBackend) Nicknames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		names[id] = "Nick " + id
	}
	return names, b.fail
}

func (b *fakeBackend) TeamNames(_ context.Context, _ string, ids []string) (map[string]string, error) {
	names := map[string]string{}
	for _, id := range ids {
		names[id] = "Team " + id
	}
	return names, b.fail
}

func (b *fakeBackend) Matches(_ context.Context, _, player, cursor string, _ int) ([]match.HistoryEntry, string, error) {
	switch {
	case b.fail != nil:
		return nil, "", b.fail
	case cursor == "bad":
		return nil, "", match.ErrBadCursor
	case player != "p_1":
		return nil, "", nil
	}
	return []match.HistoryEntry{{Match: "m_1", Mode: match.Duel, OverAt: startTime, Rank: 1, Score: 1642, Correct: 9, Players: 2}}, "next", nil
}

func (b *fakeBackend) Match(_ context.Context, game, id string) (match.Summary, error) {
	if b.fail != nil || id != "m_1" && id != "m_teams" {
		return match.Summary{}, errors.Join(b.fail, match.ErrNotFound)
	}
	m := match.Summary{
		Match: id, Game: game, Mode: match.Duel, StartedAt: startTime, OverAt: startTime + 1000,
		Reason: match.ReasonFinished, Questions: 10, CountsForLeaderboards: true, Players: 3,
	}
	if id == "m_teams" {
		m.Mode = match.Buzzer
		m.Teams = []match.TeamResult{{Rank: 1, ID: "north", Score: 1}, {Rank: 2, ID: "south"}}
		m.Firsts = []match.First{{Question: 3, Player: "p_1", Nickname: b.shownNickname("p_1", "Ada"), Team: "north", ArrivedAt: startTime, ElapsedMS: 87, Node: "n1"}}
	}
	return m, nil
}

func (b *fakeBackend) Standings(_ context.Context, _ match.Summary, from, to int) (page []protocol.OverStanding, _ error) {
	for i, p := range []string{"p_1", "p_2", "p_3"}[from:to] {
		page = append(page, protocol.OverStanding{
			Rank: from + i + 1, Player: p, Nickname: b.shownNickname(p, "Nick "+p), Score: 1642, Correct: 9, Answered: 10, Asked: 10, TimeMS: 43210,
		})
	}
	if from == 0 {
		page[0].Rating, page[0].RatingDelta = new(int), new(int)
		*page[0].Rating, *page[0].RatingDelta = 1516, 16
	}
	return page, b.fail
}

// shownNickname returns the nickname of a player; an erased player has none.
func (b *fakeBackend) shownNickname(player, nickname string) string {
	if b.erased[player] {
		return ""
	}
	return nickname
}

func (b *fakeBackend) Create(_ context.Context, c arena.CreateRequest) (protocol.ArenaMade, error) {
	b.arena = c
	if b.fail != nil {
		return protocol.ArenaMade{}, b.fail
	}
	return protocol.ArenaMade{ArenaID: "a_1", Code: "402951"}, nil
}

func (b *fakeBackend) Show(_ context.Context, _, code string) (protocol.ArenaLook, error) {
	b.code = code
	if b.fail != nil {
		return protocol.ArenaLook{}, b.fail
	}
	if code != "402951" {
		return protocol.ArenaLook{}, protocol.Errorf(protocol.CodeNotFound, "there is no such arena")
	}
	return protocol.ArenaLook{ArenaID: "a_1", Name: "Cup", Mode: "survival", State: "lobby", Players: 3}, nil
}

func (b *fakeBackend) ListHosted(_ context.Context, _, host, cursor string, limit int) ([]protocol.HostedArena, string, error) {
	if cursor == "bad" {
		return nil, "", match.ErrBadCursor
	}
	hosted := []protocol.HostedArena{
		{ArenaID: "a_2", Name: host, Mode: "race", State: "lobby", CreatedAt: startTime, Players: 3},
		{ArenaID: "a_1", Name: "Cup", Mode: "survival", State: "over", CreatedAt: startTime - 1, Players: 7, Match: "m_1"},
	}
	return hosted[:min(limit, 2)], cursor + ">", b.fail
}

// FindRecord finds arenas with the host p_1, and a_2 with another one.
func (b *fakeBackend) FindRecord(_ context.Context, game, id string) (arena.Record, error) {
	r := arena.Record{Game: game, Match: "m_" + id[2:], Host: "p_1", Name: "Cup", Mode: match.Race}
	switch id {
	case "a_2":
		r.Host = "p_2"
	case "a_erased":
		r.Match, r.Host, r.Name = "m_1", "", ""
	case "a_open", "a_closed":
		r.Name = id
		r.Match = "m_9"
	case "a_unknown":
		return arena.Record{}, protocol.Errorf(protocol.CodeNotFound, "there is no such arena")
	}
	return r, b.fail
}

func (b *fakeBackend) CheckOver(_ context.Context, r arena.Record) error {
	if r.Name == "a_open" {
		return protocol.Errorf(protocol.CodeNotOver, "the arena is not over")
	}
	return b.fail
}

// MakeVoid returns an error for a question from 6.
func (b *fakeBackend) MakeVoid(_ context.Context, v answers.Void) (bool, error) {
	errs := []error{answers.ErrNoQuestion, answers.ErrNotRecountable, answers.ErrTooOld, answers.ErrOnTheWay}
	if v.Question >= 6 {
		return false, errs[v.Question-6]
	}
	isNew := b.void != v
	b.void = v
	return isNew, b.fail
}

// FindJoinInfo finds an arena of 3 players for the code 402951 and for each
// code that ends with 7. The arena of the code 000001 is over.
func (b *fakeBackend) FindJoinInfo(ctx context.Context, game, code string) (arena.JoinInfo, error) {
	if code == "000001" && b.fail == nil {
		return arena.JoinInfo{ID: "a_0", MaxPlayers: 3, IsOver: true}, nil
	}
	if strings.HasSuffix(code, "7") {
		return arena.JoinInfo{ID: "a_" + code, MaxPlayers: 3}, nil
	}
	look, err := b.Show(ctx, game, code)
	return arena.JoinInfo{ID: look.ArenaID, MaxPlayers: 3}, err
}

// Post drops everything that is not a JSON object.
func (b *fakeBackend) Post(_ context.Context, game string, bodies []json.RawMessage) (eventq.PostResult, error) {
	if b.fail != nil || game != "demo" {
		return eventq.PostResult{}, b.fail
	}
	b.posts = bodies
	p := eventq.PostResult{Accepted: len(bodies)}
	for _, body := range bodies {
		if json.Unmarshal(body, &map[string]any{}) == nil && string(body) != "null" {
			continue
		}
		if p.Dropped == nil {
			p.Dropped = map[eventq.Reason]int64{}
		}
		p.Accepted--
		p.Dropped[eventq.Invalid]++
	}
	return p, nil
}

func (b *fakeBackend) Listing(context.Context, string) (leaderboard.Listing, error) {
	return leaderboard.Listing{
		Windows: []leaderboard.ListedWindow{{ID: leaderboard.All, Orders: leaderboard.Orders()}},
		Kinds:   leaderboard.Kinds(), TimeZone: "UTC", Day: "2026-11-20",
	}, b.fail
}

var entry = leaderboard.Entry{
	Rank: 1, ID: "p_1", Value: 41000, Score: 41000, TimeMS: 812345, Matches: 41,
	Asked: 410, Answered: 405, Correct: 371, Accuracy: 0.9049,
}

func (b *fakeBackend) Page(_ context.Context, game string, q leaderboard.Query) (leaderboard.Page, error) {
	b.query = q
	if q.Kind != "" && !slices.Contains(leaderboard.Kinds(), q.Kind) { // like the real reader
		return leaderboard.Page{}, fmt.Errorf("%w: kind", leaderboard.ErrBadQuery)
	}
	page := leaderboard.Page{Game: game, Window: q.Window, Order: leaderboard.ByValue, From: "2026-11-14", To: "2026-11-20"}
	if !b.empty {
		page.AsOf, page.Total, page.NextCursor, page.PrevCursor = startTime, 3, "n", "p"
		page.Entries = []leaderboard.Entry{entry}
	} else {
		page.Entries = []leaderboard.Entry{}
	}
	return page, b.fail
}

func (b *fakeBackend) Standing(_ context.Context, _ string, q leaderboard.StandingQuery) (leaderboard.Standing, error) {
	next := 12.5
	s := leaderboard.Standing{Entry: entry, Total: 3, Percentile: 66.6, ToNext: &next}
	if q.Explain {
		s.Explain = &leaderboard.Explanation{
			Terms: leaderboard.Explain(totals, leaderboard.DefaultWeights),
			Tie:   &leaderboard.Tie{SharedBy: 2, Place: 1, Position: 17},
		}
	}
	return s, b.fail
}

// fakeAnswers has the answers of p_1 in the match m_1. The names of other matches say why
// they have none.
type fakeAnswers struct{ *fakeBackend }

func (a fakeAnswers) Match(_ context.Context, _, id string) (answers.Match, error) {
	q := quiz.DrawnQuestion{Question: &quiz.Question{Kind: quiz.Single, Text: "Capital?", Choices: []string{"Rome", "Oslo"}, RightIndexes: []int{1}, Explanation: "It is."}}
	number := quiz.DrawnQuestion{Question: &quiz.Question{Kind: quiz.Number, Text: "When?", Target: &quiz.Target{Value: 1969}}}
	switch id {
	case "m_9", "m_unsettled":
		return answers.Match{}, match.ErrNotFound
	case "m_new":
		return answers.Match{Summary: match.Summary{Match: id}}, answers.ErrOnTheWay
	case "m_old":
		return answers.Match{Summary: match.Summary{Match: id}}, answers.ErrNotStored
	}
	summary := match.Summary{Match: id, Mode: match.Race, StartedAt: startTime, OverAt: startTime + 60_000, Players: 3}
	return answers.Match{Summary: summary, Questions: []quiz.DrawnQuestion{q, number, q}}, a.fail
}

// EachBlock has the answers of p_1, and those of EachPlayer for two others.
func (a fakeAnswers) EachBlock(ctx context.Context, m answers.Match, onBlock func([]answers.Answer)) error {
	return a.EachPlayer(ctx, m, 0, 3, func(p answers.PlayerAnswers) error {
		onBlock(p.Answers)
		return nil
	})
}

// EachPlayer has the answers of p_1; p_2 answers the first question and p_3 none.
func (a fakeAnswers) EachPlayer(ctx context.Context, m answers.Match, from, to int, onPlayer func(answers.PlayerAnswers) error) error {
	standings, err := a.Standings(ctx, m.Summary, from, to)
	for _, s := range standings {
		p := answers.PlayerAnswers{Standing: s}
		switch s.Player {
		case "p_1":
			p.Standing.Team = "north"
			p.Answers, _ = a.Of(ctx, answers.Match{Summary: match.Summary{Match: "m_1"}}, "p_1")
		case "p_2":
			p.Answers = []answers.Answer{{Player: 1, Given: &protocol.Given{Choice: new(0)}, ElapsedMS: 1001, Points: -20}}
		}
		if err == nil {
			err = onPlayer(p)
		}
	}
	return err
}

func (a fakeAnswers) Of(_ context.Context, m answers.Match, player string) ([]answers.Answer, error) {
	if m.Summary.Match == "m_2" || player != "p_1" {
		return nil, answers.ErrNotPlayer
	}
	return []answers.Answer{
		{Question: 0, Given: &protocol.Given{Choice: new(1)}, Correct: true, ElapsedMS: 1234, Points: 187},
		{Question: 2, Given: &protocol.Given{Choice: new(1)}, Retracted: true, ElapsedMS: 1, Points: 200},
		{Question: 3, Given: &protocol.Given{Choice: new(1)}, ElapsedMS: 1},
	}, a.fail
}

// HasSeat knows the match m_unsettled of p_1.
func (b *fakeBackend) HasSeat(_ context.Context, _, id, player string) (bool, error) {
	if id != "m_unsettled" {
		return false, match.ErrNotFound
	}
	return player == "p_1", b.fail
}

// newDisplay returns the display of a backend, at 12 h after start.
func newDisplay(source interface {
	leaderboard.BoardReader
	leaderboard.NameSource
}) *leaderboard.Display {
	return leaderboard.NewDisplay(source, source, func() int64 { return startTime + 12*time.Hour.Milliseconds() }, prometheus.NewRegistry())
}

// newTestConfig returns a complete configuration that uses a backend. Tests change
// the fields that they are about.
func newTestConfig(w *fakeBackend) Config {
	return Config{
		Games: []string{"demo"}, Tokens: w, Guests: w, Accounts: w, Players: w, History: w, Answers: fakeAnswers{w}, Seats: w, Boards: newDisplay(w), Arenas: w, Voids: w, Behaviours: w, Tasks: w,
		Logger: slog.New(slog.DiscardHandler), Registry: prometheus.NewRegistry(),
		Websocket:       http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusSwitchingProtocols) }),
		Page:            http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { _, _ = w.Write([]byte("page " + r.URL.Path)) }),
		IsStoreDown:     func(err error) bool { return errors.Is(err, errStore) },
		IsDraining:      func() bool { return false },
		IsOriginAllowed: func(*http.Request) bool { return false },
		IsTLS:           new(httpserver.TrustedProxies).IsTLS,
		ClientAddress:   new(httpserver.TrustedProxies).ClientAddress,
		LoadShedder:     overload.NewShedder(overload.ShedderConfig{}),
		RevocableCalls:  NewRevocableCalls(func(identity.Claims) error { return nil }),
		Version:         "0.1.0",
	}
}

// call is one request; headers are "Name: value".
type call struct {
	method, target, body string
	headers              []string
}

// getCall is a GET call without a body.
func getCall(target string, headers ...string) call {
	return call{method: http.MethodGet, target: target, headers: headers}
}

// jsonCall is a call with a JSON body.
func jsonCall(method, target, body string, headers ...string) call {
	return call{method, target, body, append(headers, "Content-Type: application/json")}
}

func (c call) request(t testing.TB) *http.Request {
	t.Helper()
	r := httptest.NewRequestWithContext(t.Context(), c.method, "http://quiz.example"+c.target, strings.NewReader(c.body))
	for _, handler := range c.headers {
		name, value, _ := strings.Cut(handler, ": ")
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
