package httpapi

import (
	"fmt"
	"net/http"
	"net/netip"
	"strconv"
	"strings"
	"testing"
	"time"

	"laststand/internal/limit"
	"laststand/internal/protocol"
)

// twoPerHour is a rule that allows two uses per hour.
func twoPerHour(what string) *limit.Rule { return hourly(what, 2) }

// perHour is a rule that allows maxUses uses per hour; 0 means any number.
func hourly(what string, most int) *limit.Rule {
	return limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: what, Subject: what, Limit: most, Per: time.Hour})
}

// limitedServer is a handler with limits, and the test that uses it.
type limitedServer struct {
	*testing.T
	http.Handler
	backend *fakeBackend
}

func newLimitedServer(t *testing.T, limits Limits, more ...func(*Config)) limitedServer {
	w := &fakeBackend{}
	c := configOf(w)
	c.Limits = limits
	for _, f := range more {
		f(&c)
	}
	return limitedServer{t, New(c), w}
}

// wantStatus expects that a call passes the limits and gives a status.
func (e limitedServer) wantStatus(c call, status int) {
	e.Helper()
	if rec := serve(e, e, c); rec.Code != status {
		e.Errorf("%s %s: %d %s, want %d", c.method, c.target, rec.Code, rec.Body, status)
	}
}

// wantLimited expects that a limit refuses a call, names itself, and says how
// long to wait: from half of maxWait to maxWait seconds.
func (e limitedServer) wantLimited(c call, what string, most int) {
	e.Helper()
	rec := serve(e, e, c)
	wait, err := strconv.Atoi(rec.Header().Get("Retry-After"))
	if rec.Code != 429 || err != nil || wait < most/2 || wait > most {
		e.Errorf("%s %s: %d, Retry-After %q, want 429 and about %d", c.method, c.target, rec.Code, rec.Header().Get("Retry-After"), most)
		return
	}
	p := problemIn(e.T, rec.Body.Bytes())
	if p.Code != protocol.CodeRateLimited || !strings.Contains(p.Detail, "too many "+what) || !strings.Contains(p.Detail, fmt.Sprintf("try again in %d s", wait)) {
		e.Errorf("%s %s: %+v", c.method, c.target, p)
	}
}

// twoPerHourWait is the longest wait after a refusal by a twoPerHour rule, in seconds: half an hour.
const half = 1800

func guestRequest(arena string) call {
	return send("POST", demo+"/guests", `{"device":"`+device+`","arena":"`+arena+`"}`)
}

// Each limited route allows two calls and then says when to retry.
func TestLimitedRoutesRefuseTheThirdCall(t *testing.T) {
	t.Parallel()
	arena := send("POST", demo+"/arenas", newArena, bearerGood)
	rename := send("PUT", demo+"/players/me/nickname", `{"nickname":"Ada"}`, bearerGood)
	for what, c := range map[string]struct {
		limits Limits
		calls  [3]call
	}{
		"calls":      {Limits{GuestCalls: twoPerHour("calls")}, [3]call{guestRequest(""), guestRequest("none"), guestRequest("999999")}},
		"guests":     {Limits{NewGuests: twoPerHour("guests")}, [3]call{newGuest(""), newGuest("none"), newGuest("999999")}},
		"nicknames":  {Limits{Nicknames: twoPerHour("nicknames")}, [3]call{get(demo + "/nicknames/Ada"), get(demo + "/nicknames/Taken"), get(demo + "/nicknames/Ada")}},
		"boards":     {Limits{Reads: twoPerHour("boards")}, [3]call{get(demo + "/leaderboards/all"), get(demo + "/leaderboards"), get(demo + "/leaderboards/all/p_1")}},
		"profiles":   {Limits{Reads: twoPerHour("profiles")}, [3]call{get(demo + "/players/p_1"), get(demo + "/players/p_1/matches"), get(demo + "/matches/m_1")}},
		"arenas":     {Limits{Reads: twoPerHour("arenas")}, [3]call{get(demo + "/arenas/402951"), get(demo + "/arenas/402951"), get(demo + "/arenas/402951")}},
		"changes":    {Limits{Changes: twoPerHour("changes")}, [3]call{rename, rename, send("PUT", demo+"/players/me/account", `{"token":"x"}`, bearerGood)}},
		"erasing":    {Limits{Changes: twoPerHour("erasing")}, [3]call{rename, rename, {method: "DELETE", target: demo + "/players/me", headers: []string{bearerGood}}}},
		"hosting":    {Limits{ArenasPerHost: twoPerHour("hosting")}, [3]call{arena, arena, arena}},
		"address":    {Limits{ArenasPerAddress: twoPerHour("address")}, [3]call{arena, arena, arena}},
		"behaviours": {Limits{Behaviours: twoPerHour("behaviours")}, [3]call{post(1), post(1), post(1)}},
		"tasks": {Limits{Tasks: twoPerHour("tasks")}, [3]call{
			send("POST", demo+"/tasks/complete", `{"leases":[]}`, bearerService),
			{method: "GET", target: demo + "/tasks/" + taskID, headers: []string{bearerService}},
			send("POST", demo+"/tasks/claim", `{"kind":"x"}`, bearerService),
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := newLimitedServer(t, c.limits)
			for _, one := range c.calls[:2] {
				if rec := serve(t, e, one); rec.Code >= 300 {
					t.Errorf("%s %s: %d %s", one.method, one.target, rec.Code, rec.Body)
				}
			}
			e.wantLimited(c.calls[2], what, half)
		})
	}
}

// behavioursCall is a call with count behaviours.
func post(n int) call { return send("POST", behaviours, behavioursBodyOf(n, online), bearerService) }

// The limit counts behaviours, not calls.
func TestBehavioursAreCounted(t *testing.T) {
	t.Parallel()
	e := newLimitedServer(t, Limits{Behaviours: limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: "b", Subject: "behaviours", Limit: 100, Per: time.Hour})})
	e.wantStatus(post(90), 202)
	e.wantLimited(post(20), "behaviours", 10*36)
	e.wantStatus(post(10), 202)
	if n := len(e.backend.posts); n != 10 {
		t.Errorf("%d behaviours of the last call were passed on, want 10", n)
	}
}

// A limit does not affect others: the limit of arenas by address does not apply to
// hosts, and addresses are counted separately.
func TestLimitsAreIndependent(t *testing.T) {
	t.Parallel()
	from := "10.0.0.1"
	e := newLimitedServer(t, Limits{Reads: twoPerHour("reads"), ArenasPerAddress: twoPerHour("address")}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(from) }
	})
	read, arena := get(demo+"/players/p_1"), send("POST", demo+"/arenas", newArena, bearerGood)
	for range 2 {
		e.wantStatus(read, 200)
		e.wantStatus(arena, 201)
	}
	e.wantLimited(read, "reads", half)
	e.wantLimited(arena, "address", half)
	e.wantStatus(send("POST", demo+"/arenas", newArena, "Authorization: Bearer host"), 201)
	e.wantStatus(get("/healthz"), 200)
	from = "10.0.0.2"
	e.wantStatus(read, 200)
}

// Only wrong codes count against the address, on every route. After too many
// wrong codes the address may use only codes that it used before or that the
// server gave to it. Guests with other codes count as guests of the address.
func TestWrongArenaCodesAreLimited(t *testing.T) {
	t.Parallel()
	e := newLimitedServer(t, Limits{ArenaCodes: &limit.FailureLimiter{PerAddress: twoPerHour("codes")}, NewGuests: twoPerHour("guests")})
	right, wrong := get(demo+"/arenas/402951"), get(demo+"/arenas/999999")
	for range 5 {
		e.wantStatus(get(demo+"/arenas/40295"), 404) // a malformed code is not counted
	}
	e.wantStatus(wrong, 404)
	e.wantStatus(newGuest("999999"), 201)
	e.wantLimited(wrong, "codes", half)
	e.wantLimited(right, "codes", half)
	e.backend.code = ""
	e.wantStatus(newGuest("402951"), 201)
	if e.backend.code != "" {
		t.Error("the code was looked up")
	}
	e.wantLimited(newGuest("402951"), "guests", half)
	e.wantStatus(send("POST", demo+"/arenas", newArena, bearerGood), 201) // the server gives the code 402951
	for range 5 {
		e.wantStatus(right, 200)
		e.wantStatus(newGuest("402951"), 201)
	}

	e = newLimitedServer(t, Limits{ArenaCodes: &limit.FailureLimiter{PerAddress: twoPerHour("codes")}})
	e.wantStatus(right, 200)
	e.wantStatus(wrong, 404)
	e.wantStatus(wrong, 404)
	e.wantLimited(wrong, "codes", half)
	for range 5 {
		e.wantStatus(right, 200)
		e.wantStatus(newGuest("402951"), 201)
	}
}

// newGuest is a call that registers a new player.
func newGuest(arena string) call {
	return send("POST", demo+"/guests", `{"device":"`+device+`","nickname":"Ada","arena":"`+arena+`"}`)
}

// countNewGuests creates new guests until the server refuses one, and returns
// their number.
func (e limitedServer) countNewGuests(c call) (made int) {
	for serve(e, e, c).Code == http.StatusCreated {
		made++
	}
	return made
}

// New guests with an arena code have their own limits: per address a burst of as many
// as the arena has seats, and per arena a number per minute. All other
// guests, and those of an arena that is over, count against the address.
func TestNewGuestsWithAnArenaCode(t *testing.T) {
	t.Parallel()
	const places = 3 // seats of the arenas of fakeBackend
	coming := func(most int) *limit.Rule {
		return limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: "coming", Subject: "coming", Limit: most, Per: time.Hour, Burst: 100})
	}
	for name, c := range map[string]struct {
		limits   Limits
		code     string
		admitted int
	}{
		"the code of an arena that is over": {Limits{}, "000001", 0},
		"as many as the arena has seats":    {Limits{GuestsWithCode: coming(1)}, "402951", places},
		"the limit per address":             {Limits{GuestsWithCode: coming(5)}, "402951", 5},
		"the limit per arena":               {Limits{GuestsPerArena: hourly("arena", 5)}, "402951", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.limits.NewGuests = twoPerHour("guests")
			e := newLimitedServer(t, c.limits)
			if created := e.countNewGuests(newGuest(c.code)); created != c.admitted+2 {
				t.Errorf("%d new guests, want %d of the arena and 2 of the address", created, c.admitted)
			}
			e.wantStatus(guestRequest(c.code), 200) // a known guest does not count
		})
	}
}

// The limit of an address applies to all arenas together. Other addresses are not
// affected.
func TestGuestsPerAddressAreLimitedForAllArenas(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	e := newLimitedServer(t, Limits{
		GuestsWithCode: limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: "coming", Subject: "coming", Limit: 5, Per: time.Hour, Burst: 100}),
		NewGuests:      hourly("guests", 2),
	}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	arenas := []string{"100007", "200007", "300007", "400007"}
	for range 2 {
		created := 0
		for _, code := range arenas {
			created += e.countNewGuests(newGuest(code))
		}
		if created != 5+2 {
			t.Errorf("%s created %d players with the codes of %d arenas, want 5 with a code and 2 without", address, created, len(arenas))
		}
		address = "10.0.0.2"
	}
}

// All new guests of an address count against its daily limit. Known devices do
// not.
func TestNewGuestsPerDay(t *testing.T) {
	t.Parallel()
	day := limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: "day", Subject: "new players", Limit: 4, Per: 24 * time.Hour})
	e := newLimitedServer(t, Limits{NewGuestsPerDay: day})
	for range 2 {
		e.wantStatus(newGuest(""), 201)
		e.wantStatus(newGuest("402951"), 201)
		e.wantStatus(guestRequest(""), 200)
	}
	e.wantLimited(newGuest("402951"), "new players", 6*3600)
	e.wantStatus(guestRequest("402951"), 200)
}

// A refusal by the daily limit uses up nothing of the limit of the arena.
func TestADailyRefusalTakesNoTokenOfTheArena(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	e := newLimitedServer(t, Limits{
		GuestsPerArena: hourly("arena", 5), NewGuests: hourly("guests", 1),
		NewGuestsPerDay: limit.New(limit.Config{}).NewRule(limit.RuleConfig{Name: "day", Subject: "new players", Limit: 2, Per: 24 * time.Hour}),
	}, func(c *Config) {
		c.ClientAddress = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	for range 2 {
		e.wantStatus(newGuest("402951"), 201)
	}
	for range 10 {
		e.wantLimited(newGuest("402951"), "new players", 12*3600)
	}
	address = "10.0.0.2"
	for range 2 {
		e.wantStatus(newGuest("402951"), 201)
	}
	address = "10.0.0.3"
	if created := e.countNewGuests(newGuest("402951")); created != 2 {
		t.Errorf("%d new guests, want the last of the arena's 5 and 1 of the address", created)
	}
}

// The limit of guest requests refuses before the body is read.
func TestGuestCallsAreLimitedBeforeTheBodyIsRead(t *testing.T) {
	t.Parallel()
	e := newLimitedServer(t, Limits{GuestCalls: twoPerHour("calls")})
	large := send("POST", demo+"/guests", `{"device":"`+strings.Repeat("x", 5<<10)+`"}`)
	e.wantStatus(large, http.StatusRequestEntityTooLarge)
	e.wantStatus(guestRequest(""), 200)
	for _, c := range []call{large, guestRequest(""), send("POST", demo+"/guests", `{`)} {
		e.wantLimited(c, "calls", half)
	}
}

// A store that is out of reach does not count as a wrong code.
func TestAStoreErrorIsNoWrongCode(t *testing.T) {
	t.Parallel()
	e := newLimitedServer(t, Limits{ArenaCodes: &limit.FailureLimiter{PerAddress: twoPerHour("codes")}})
	e.backend.fail = errStore
	for range 3 {
		e.wantStatus(newGuest("402951"), 503)
	}
	e.backend.fail = nil
	e.wantStatus(get(demo+"/arenas/402951"), 200)
}
