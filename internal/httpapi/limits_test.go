package httpapi

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// twoPerHour is a rule that allows two uses per hour.
func twoPerHour(subject string) *overload.Rule { return perHour(subject, 2) }

// perHour is a rule that allows maxUses uses per hour; 0 means any number.
func perHour(subject string, maxUses int) *overload.Rule {
	return overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: subject, Subject: subject, Limit: maxUses, Per: time.Hour})
}

// twoCodesPerHour allows two wrong arena codes per hour.
func twoCodesPerHour() *overload.FailureLimiter {
	limiter := overload.NewLimiter(overload.LimiterConfig{Store: new(codeStore)})
	return overload.NewFailureLimiter(overload.FailureLimiter{
		PerAddress: limiter.NewRule(overload.RuleConfig{Name: "codes", Subject: "codes", Limit: 2, Per: time.Hour, ClusterWide: true}),
	})
}

// codeStore is a store of known codes. It is out of reach for tokens, so that the server counts alone.
type codeStore struct{ known sync.Map }

func (*codeStore) Take(context.Context, overload.SharedDemand) (time.Duration, error) {
	return 0, errors.New("out of reach")
}

func (s *codeStore) AddSecret(_ context.Context, _, key, code string) error {
	s.known.Store([2]string{key, code}, true)
	return nil
}

func (s *codeStore) HasSecret(_ context.Context, _, key, code string) (bool, error) {
	_, isKnown := s.known.Load([2]string{key, code})
	return isKnown, nil
}

// limitedServer is a handler with limits, and the test that uses it.
type limitedServer struct {
	*testing.T
	http.Handler
	backend *fakeBackend
}

func newLimitedServer(t *testing.T, limits Limits, changes ...func(*Config)) limitedServer {
	backend := &fakeBackend{}
	c := newTestConfig(backend)
	c.Limits = limits
	for _, change := range changes {
		change(&c)
	}
	return limitedServer{t, New(c), backend}
}

// wantStatus expects that a call passes the limits and gives a status.
func (s limitedServer) wantStatus(c call, status int) {
	s.Helper()
	if rec := serve(s, s, c); rec.Code != status {
		s.Errorf("%s %s: %d %s, want %d", c.method, c.target, rec.Code, rec.Body, status)
	}
}

// wantLimited expects that a limit refuses a call, names itself, and says how
// long to wait: from half of maxWait to maxWait seconds.
func (s limitedServer) wantLimited(c call, subject string, maxWait int) {
	s.Helper()
	rec := serve(s, s, c)
	wait, err := strconv.Atoi(rec.Header().Get("Retry-After"))
	if rec.Code != 429 || err != nil || wait < maxWait/2 || wait > maxWait {
		s.Errorf("%s %s: %d, Retry-After %q, want 429 and about %d", c.method, c.target, rec.Code, rec.Header().Get("Retry-After"), maxWait)
		return
	}
	p := decodeProblem(s.T, rec.Body.Bytes())
	if p.Code != protocol.CodeRateLimited || !strings.Contains(p.Detail, "too many "+subject) || !strings.Contains(p.Detail, fmt.Sprintf("try again in %d s", wait)) {
		s.Errorf("%s %s: %+v", c.method, c.target, p)
	}
}

// twoPerHourWait is the longest wait after a refusal by a twoPerHour rule, in seconds: half an hour.
const twoPerHourWait = 1800

func guestRequest(arena string) call {
	return jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`","arena":"`+arena+`"}`)
}

// Each limited route allows two calls and then says when to retry.
func TestLimitedRoutesRefuseTheThirdCall(t *testing.T) {
	t.Parallel()
	createArena := jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood)
	rename := jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Ada"}`, bearerGood)
	for subject, test := range map[string]struct {
		limits Limits
		calls  [3]call
	}{
		"calls":      {Limits{GuestCalls: twoPerHour("calls")}, [3]call{guestRequest(""), guestRequest("none"), guestRequest("999999")}},
		"guests":     {Limits{NewGuests: twoPerHour("guests")}, [3]call{newGuest(""), newGuest("none"), newGuest("999999")}},
		"nicknames":  {Limits{Nicknames: twoPerHour("nicknames")}, [3]call{getCall(demoPath + "/nicknames/Ada"), getCall(demoPath + "/nicknames/Taken"), getCall(demoPath + "/nicknames/Ada")}},
		"boards":     {Limits{Reads: twoPerHour("boards")}, [3]call{getCall(demoPath + "/leaderboards/all"), getCall(demoPath + "/leaderboards"), getCall(demoPath + "/leaderboards/all/p_1")}},
		"profiles":   {Limits{Reads: twoPerHour("profiles")}, [3]call{getCall(demoPath + "/players/p_1"), getCall(demoPath + "/players/p_1/matches"), getCall(demoPath + "/matches/m_1")}},
		"arenas":     {Limits{Reads: twoPerHour("arenas")}, [3]call{getCall(demoPath + "/arenas/402951"), getCall(demoPath + "/arenas/402951"), getCall(demoPath + "/arenas/402951")}},
		"changes":    {Limits{Changes: twoPerHour("changes")}, [3]call{rename, rename, jsonCall("PUT", demoPath+"/players/me/account", `{"token":"x"}`, bearerGood)}},
		"erasing":    {Limits{Changes: twoPerHour("erasing")}, [3]call{rename, rename, {method: "DELETE", target: demoPath + "/players/me", headers: []string{bearerGood}}}},
		"hosting":    {Limits{ArenasPerHost: twoPerHour("hosting")}, [3]call{createArena, createArena, createArena}},
		"address":    {Limits{ArenasPerAddress: twoPerHour("address")}, [3]call{createArena, createArena, createArena}},
		"behaviours": {Limits{Behaviours: twoPerHour("behaviours")}, [3]call{behavioursCall(1), behavioursCall(1), behavioursCall(1)}},
		"tasks": {Limits{Tasks: twoPerHour("tasks")}, [3]call{
			jsonCall("POST", demoPath+"/tasks/complete", `{"leases":[]}`, bearerService),
			{method: "GET", target: demoPath + "/tasks/" + taskID, headers: []string{bearerService}},
			jsonCall("POST", demoPath+"/tasks/claim", `{"kind":"x"}`, bearerService),
		}},
	} {
		t.Run(subject, func(t *testing.T) {
			t.Parallel()
			server := newLimitedServer(t, test.limits)
			for _, accepted := range test.calls[:2] {
				if rec := serve(t, server, accepted); rec.Code >= 300 {
					t.Errorf("%s %s: %d %s", accepted.method, accepted.target, rec.Code, rec.Body)
				}
			}
			server.wantLimited(test.calls[2], subject, twoPerHourWait)
		})
	}
}

// behavioursCall is a call with count behaviours.
func behavioursCall(count int) call {
	return jsonCall("POST", demoBehavioursPath, repeatBehaviour(count, onlineJSON), bearerService)
}

// The limit counts behaviours, not calls.
func TestTheBehaviourLimitCountsBehaviours(t *testing.T) {
	t.Parallel()
	server := newLimitedServer(t, Limits{Behaviours: overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "b", Subject: "behaviours", Limit: 100, Per: time.Hour})})
	server.wantStatus(behavioursCall(90), 202)
	server.wantLimited(behavioursCall(20), "behaviours", 10*36)
	server.wantStatus(behavioursCall(10), 202)
	if n := len(server.backend.posts); n != 10 {
		t.Errorf("%d behaviours of the last call were passed on, want 10", n)
	}
}

// A limit does not affect others: the limit of arenas by address does not apply to
// hosts, and addresses are counted separately.
func TestLimitsAreIndependent(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	server := newLimitedServer(t, Limits{Reads: twoPerHour("reads"), ArenasPerAddress: twoPerHour("address")}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	read, createArena := getCall(demoPath+"/players/p_1"), jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood)
	for range 2 {
		server.wantStatus(read, 200)
		server.wantStatus(createArena, 201)
	}
	server.wantLimited(read, "reads", twoPerHourWait)
	server.wantLimited(createArena, "address", twoPerHourWait)
	server.wantStatus(jsonCall("POST", demoPath+"/arenas", newArenaJSON, "Authorization: Bearer host"), 201)
	server.wantStatus(getCall("/healthz"), 200)
	address = "10.0.0.2"
	server.wantStatus(read, 200)
}

// Only wrong codes count against the address, on every route. After too many
// wrong codes the address may use only codes that it used before or that the
// server gave to it. Guests with other codes count as guests of the address.
func TestWrongArenaCodesAreLimited(t *testing.T) {
	t.Parallel()
	server := newLimitedServer(t, Limits{ArenaCodes: twoCodesPerHour(), NewGuests: twoPerHour("guests")})
	right, wrong := getCall(demoPath+"/arenas/402951"), getCall(demoPath+"/arenas/999999")
	for range 5 {
		server.wantStatus(getCall(demoPath+"/arenas/40295"), 404) // a malformed code is not counted
	}
	server.wantStatus(wrong, 404)
	server.wantStatus(newGuest("999999"), 201)
	server.wantLimited(wrong, "codes", twoPerHourWait)
	server.wantLimited(right, "codes", twoPerHourWait)
	server.backend.code = ""
	server.wantStatus(newGuest("402951"), 201)
	if server.backend.code != "" {
		t.Error("the code was looked up")
	}
	server.wantLimited(newGuest("402951"), "guests", twoPerHourWait)
	server.wantStatus(jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood), 201) // the server gives the code 402951
	for range 5 {
		server.wantStatus(right, 200)
		server.wantStatus(newGuest("402951"), 201)
	}

	server = newLimitedServer(t, Limits{ArenaCodes: twoCodesPerHour()})
	server.wantStatus(right, 200)
	server.wantStatus(wrong, 404)
	server.wantStatus(wrong, 404)
	server.wantLimited(wrong, "codes", twoPerHourWait)
	for range 5 {
		server.wantStatus(right, 200)
		server.wantStatus(newGuest("402951"), 201)
	}
}

// newGuest is a call that registers a new player.
func newGuest(arena string) call {
	return jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`","nickname":"Ada","arena":"`+arena+`"}`)
}

// countNewGuests creates new guests until the server refuses one, and returns
// their number.
func (s limitedServer) countNewGuests(c call) (created int) {
	for serve(s, s, c).Code == http.StatusCreated {
		created++
	}
	return created
}

// New guests with an arena code have their own limits: per address a burst of as many
// as the arena has seats, and per arena a number per minute. All other
// guests, and those of an arena that is over, count against the address.
func TestNewGuestsWithAnArenaCodeHaveTheirOwnLimits(t *testing.T) {
	t.Parallel()
	const places = 3 // seats of the arenas of fakeBackend
	guestsWithCodeRule := func(maxUses int) *overload.Rule {
		return overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "coming", Subject: "coming", Limit: maxUses, Per: time.Hour, Burst: 100})
	}
	for name, test := range map[string]struct {
		limits   Limits
		code     string
		admitted int
	}{
		"the code of an arena that is over": {Limits{}, "000001", 0},
		"as many as the arena has seats":    {Limits{GuestsWithCode: guestsWithCodeRule(1)}, "402951", places},
		"the limit per address":             {Limits{GuestsWithCode: guestsWithCodeRule(5)}, "402951", 5},
		"the limit per arena":               {Limits{GuestsPerArena: perHour("arena", 5)}, "402951", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			test.limits.NewGuests = twoPerHour("guests")
			server := newLimitedServer(t, test.limits)
			if created := server.countNewGuests(newGuest(test.code)); created != test.admitted+2 {
				t.Errorf("%d new guests, want %d of the arena and 2 of the address", created, test.admitted)
			}
			server.wantStatus(guestRequest(test.code), 200) // a known guest does not count
		})
	}
}

// The limit of an address applies to all arenas together. Other addresses are not
// affected.
func TestGuestsPerAddressAreLimitedForAllArenas(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	server := newLimitedServer(t, Limits{
		GuestsWithCode: overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "coming", Subject: "coming", Limit: 5, Per: time.Hour, Burst: 100}),
		NewGuests:      perHour("guests", 2),
	}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	arenas := []string{"100007", "200007", "300007", "400007"}
	for range 2 {
		created := 0
		for _, code := range arenas {
			created += server.countNewGuests(newGuest(code))
		}
		if created != 5+2 {
			t.Errorf("%s created %d players with the codes of %d arenas, want 5 with a code and 2 without", address, created, len(arenas))
		}
		address = "10.0.0.2"
	}
}

// All new guests of an address count against its daily limit. Known devices do
// not.
func TestNewGuestsPerDayAreLimited(t *testing.T) {
	t.Parallel()
	perDay := overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "day", Subject: "new players", Limit: 4, Per: 24 * time.Hour})
	server := newLimitedServer(t, Limits{NewGuestsPerDay: perDay})
	for range 2 {
		server.wantStatus(newGuest(""), 201)
		server.wantStatus(newGuest("402951"), 201)
		server.wantStatus(guestRequest(""), 200)
	}
	server.wantLimited(newGuest("402951"), "new players", 6*3600)
	server.wantStatus(guestRequest("402951"), 200)
}

// A refusal by the daily limit uses up nothing of the limit of the arena.
func TestADailyRefusalLeavesTheArenaLimitUnchanged(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	server := newLimitedServer(t, Limits{
		GuestsPerArena: perHour("arena", 5), NewGuests: perHour("guests", 1),
		NewGuestsPerDay: overload.NewLimiter(overload.LimiterConfig{}).NewRule(overload.RuleConfig{Name: "day", Subject: "new players", Limit: 2, Per: 24 * time.Hour}),
	}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	for range 2 {
		server.wantStatus(newGuest("402951"), 201)
	}
	for range 10 {
		server.wantLimited(newGuest("402951"), "new players", 12*3600)
	}
	address = "10.0.0.2"
	for range 2 {
		server.wantStatus(newGuest("402951"), 201)
	}
	address = "10.0.0.3"
	if created := server.countNewGuests(newGuest("402951")); created != 2 {
		t.Errorf("%d new guests, want the last of the arena's 5 and 1 of the address", created)
	}
}

// The limit of guest requests refuses before the body is read.
func TestGuestCallsAreLimitedBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	server := newLimitedServer(t, Limits{GuestCalls: twoPerHour("calls")})
	large := jsonCall("POST", demoPath+"/guests", `{"device":"`+strings.Repeat("x", 5<<10)+`"}`)
	server.wantStatus(large, http.StatusRequestEntityTooLarge)
	server.wantStatus(guestRequest(""), 200)
	for _, c := range []call{large, guestRequest(""), jsonCall("POST", demoPath+"/guests", `{`)} {
		server.wantLimited(c, "calls", twoPerHourWait)
	}
}

// A store that is out of reach does not count as a wrong code.
func TestAStoreErrorIsNoWrongCode(t *testing.T) {
	t.Parallel()
	server := newLimitedServer(t, Limits{ArenaCodes: twoCodesPerHour()})
	server.backend.fail = errStore
	for range 3 {
		server.wantStatus(newGuest("402951"), 503)
	}
	server.backend.fail = nil
	server.wantStatus(getCall(demoPath+"/arenas/402951"), 200)
}
