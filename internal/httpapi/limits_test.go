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

// twice is a rule that allows a thing twice an hour.
func twice(what string) *limit.Rule { return hourly(what, 2) }

// hourly is a rule that allows a thing so often an hour; 0: as often as one likes.
func hourly(what string, most int) *limit.Rule {
	return limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: what, Subject: what, Limit: most, Per: time.Hour})
}

// entrance is a handler on a world, and a test of it.
type entrance struct {
	*testing.T
	http.Handler
	world *world
}

func enter(t *testing.T, limits Limits, more ...func(*Config)) entrance {
	w := &world{}
	c := configOf(w)
	c.Limits = limits
	for _, f := range more {
		f(&c)
	}
	return entrance{t, New(c), w}
}

// passes wants a call to be let in, whatever comes of it.
func (e entrance) passes(c call, status int) {
	e.Helper()
	if rec := answerTo(e, e, c); rec.Code != status {
		e.Errorf("%s %s: %d %s, want %d", c.method, c.target, rec.Code, rec.Body, status)
	}
}

// refused wants a call to be refused by a limit that names itself, and the time
// that it is to wait, in seconds.
func (e entrance) refused(c call, what string, most int) {
	e.Helper()
	rec := answerTo(e, e, c)
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

// half is the wait for a token of twice, in seconds.
const half = 1800

func guestOf(arena string) call {
	return send("POST", demo+"/guests", `{"device":"`+device+`","arena":"`+arena+`"}`)
}

// Each entrance that has a limit lets two in, and says then when to come again.
func TestLimits(t *testing.T) {
	t.Parallel()
	arena := send("POST", demo+"/arenas", newArena, bearerGood)
	rename := send("PUT", demo+"/players/me/nickname", `{"nickname":"Ada"}`, bearerGood)
	for what, c := range map[string]struct {
		limits Limits
		calls  [3]call
	}{
		"calls":      {Limits{GuestCalls: twice("calls")}, [3]call{guestOf(""), guestOf("none"), guestOf("999999")}},
		"guests":     {Limits{Guests: twice("guests")}, [3]call{newGuest(""), newGuest("none"), newGuest("999999")}},
		"nicknames":  {Limits{Nicknames: twice("nicknames")}, [3]call{get(demo + "/nicknames/Ada"), get(demo + "/nicknames/Taken"), get(demo + "/nicknames/Ada")}},
		"boards":     {Limits{Reads: twice("boards")}, [3]call{get(demo + "/leaderboards/all"), get(demo + "/leaderboards"), get(demo + "/leaderboards/all/p_1")}},
		"profiles":   {Limits{Reads: twice("profiles")}, [3]call{get(demo + "/players/p_1"), get(demo + "/players/p_1/matches"), get(demo + "/matches/m_1")}},
		"arenas":     {Limits{Reads: twice("arenas")}, [3]call{get(demo + "/arenas/402951"), get(demo + "/arenas/402951"), get(demo + "/arenas/402951")}},
		"changes":    {Limits{Changes: twice("changes")}, [3]call{rename, rename, send("PUT", demo+"/players/me/account", `{"token":"x"}`, bearerGood)}},
		"erasing":    {Limits{Changes: twice("erasing")}, [3]call{rename, rename, {method: "DELETE", target: demo + "/players/me", headers: []string{bearerGood}}}},
		"hosting":    {Limits{Hosting: twice("hosting")}, [3]call{arena, arena, arena}},
		"address":    {Limits{HostingFrom: twice("address")}, [3]call{arena, arena, arena}},
		"behaviours": {Limits{Behaviours: twice("behaviours")}, [3]call{post(1), post(1), post(1)}},
		"tasks": {Limits{Tasks: twice("tasks")}, [3]call{
			send("POST", demo+"/tasks/complete", `{"leases":[]}`, bearerService),
			{method: "GET", target: demo + "/tasks/" + taskID, headers: []string{bearerService}},
			send("POST", demo+"/tasks/claim", `{"kind":"x"}`, bearerService),
		}},
	} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			e := enter(t, c.limits)
			for _, one := range c.calls[:2] {
				if rec := answerTo(t, e, one); rec.Code >= 300 {
					t.Errorf("%s %s: %d %s", one.method, one.target, rec.Code, rec.Body)
				}
			}
			e.refused(c.calls[2], what, half)
		})
	}
}

// post posts some behaviours.
func post(n int) call { return send("POST", behaviours, bodyOf(n, online), bearerService) }

// Behaviours are counted one by one, not by the call.
func TestBehavioursAreCounted(t *testing.T) {
	t.Parallel()
	e := enter(t, Limits{Behaviours: limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: "b", Subject: "behaviours", Limit: 100, Per: time.Hour})})
	e.passes(post(90), 202)
	e.refused(post(20), "behaviours", 10*36)
	e.passes(post(10), 202)
	if n := len(e.world.posts); n != 10 {
		t.Errorf("%d were posted", n)
	}
}

// Who has no limit is not limited by another's: a host by what players of its
// address make, an address by another.
func TestLimitsAreApart(t *testing.T) {
	t.Parallel()
	from := "10.0.0.1"
	e := enter(t, Limits{Reads: twice("reads"), HostingFrom: twice("address")}, func(c *Config) {
		c.Address = func(*http.Request) netip.Addr { return netip.MustParseAddr(from) }
	})
	read, arena := get(demo+"/players/p_1"), send("POST", demo+"/arenas", newArena, bearerGood)
	for range 2 {
		e.passes(read, 200)
		e.passes(arena, 201)
	}
	e.refused(read, "reads", half)
	e.refused(arena, "address", half)
	e.passes(send("POST", demo+"/arenas", newArena, "Authorization: Bearer host"), 201)
	e.passes(get("/healthz"), 200)
	from = "10.0.0.2"
	e.passes(read, 200)
}

// Wrong codes are charged to the address, wherever they are tried; right ones
// are not. Who has tried too many cannot try another, and is a guest of the
// address's; one that has been right here, or was given out here, goes on.
func TestWrongCodes(t *testing.T) {
	t.Parallel()
	e := enter(t, Limits{Codes: &limit.FailureLimiter{PerAddress: twice("codes")}, Guests: twice("guests")})
	right, wrong := get(demo+"/arenas/402951"), get(demo+"/arenas/999999")
	for range 5 {
		e.passes(get(demo+"/arenas/40295"), 404) // no code: it says nothing
	}
	e.passes(wrong, 404)
	e.passes(newGuest("999999"), 201)
	e.refused(wrong, "codes", half)
	e.refused(right, "codes", half)
	e.world.code = ""
	e.passes(newGuest("402951"), 201)
	if e.world.code != "" {
		t.Error("the code was tried")
	}
	e.refused(newGuest("402951"), "guests", half)
	e.passes(send("POST", demo+"/arenas", newArena, bearerGood), 201) // of the code 402951
	for range 5 {
		e.passes(right, 200)
		e.passes(newGuest("402951"), 201)
	}

	e = enter(t, Limits{Codes: &limit.FailureLimiter{PerAddress: twice("codes")}})
	e.passes(right, 200)
	e.passes(wrong, 404)
	e.passes(wrong, 404)
	e.refused(wrong, "codes", half)
	for range 5 {
		e.passes(right, 200)
		e.passes(newGuest("402951"), 201)
	}
}

// newGuest is a call for a player who is new in the world of the tests.
func newGuest(arena string) call {
	return send("POST", demo+"/guests", `{"device":"`+device+`","nickname":"Ada","arena":"`+arena+`"}`)
}

// madeBy makes new guests until one is refused, and says how many there were.
func (e entrance) madeBy(c call) (made int) {
	for answerTo(e, e, c).Code == http.StatusCreated {
		made++
	}
	return made
}

// New guests with the code of an arena count apart, so many of an address at once
// as the arena has places, and so many of the arena in a minute. All others are the
// address's, also those of an arena that is over.
func TestGuestsOfArenas(t *testing.T) {
	t.Parallel()
	const places = 3 // of the world's arenas
	coming := func(most int) *limit.Rule {
		return limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: "coming", Subject: "coming", Limit: most, Per: time.Hour, Burst: 100})
	}
	for name, c := range map[string]struct {
		limits Limits
		code   string
		borne  int
	}{
		"over":       {Limits{}, "000001", 0},
		"the places": {Limits{ComingTo: coming(1)}, "402951", places},
		"by address": {Limits{ComingTo: coming(5)}, "402951", 5},
		"by arena":   {Limits{ArenaGuests: hourly("arena", 5)}, "402951", 5},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.limits.Guests = twice("guests")
			e := enter(t, c.limits)
			if made := e.madeBy(newGuest(c.code)); made != c.borne+2 {
				t.Errorf("%d new guests, want %d of the arena and 2 of the address", made, c.borne)
			}
			e.passes(guestOf(c.code), 200) // a known one counts for none of it
		})
	}
}

// One address makes so many new guests over all arenas, however many those are,
// and shuts out nobody of another address.
func TestOneClientHasManyArenas(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	e := enter(t, Limits{
		ComingTo: limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: "coming", Subject: "coming", Limit: 5, Per: time.Hour, Burst: 100}),
		Guests:   hourly("guests", 2),
	}, func(c *Config) {
		c.Address = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	arenas := []string{"100007", "200007", "300007", "400007"}
	for range 2 {
		made := 0
		for _, code := range arenas {
			made += e.madeBy(newGuest(code))
		}
		if made != 5+2 {
			t.Errorf("%s has made %d players through %d arenas, want 5 and 2", address, made, len(arenas))
		}
		address = "10.0.0.2"
	}
}

// All new guests of an address count for its day, known devices do not.
func TestGuestsOfADay(t *testing.T) {
	t.Parallel()
	day := limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: "day", Subject: "new players", Limit: 4, Per: 24 * time.Hour})
	e := enter(t, Limits{GuestsADay: day})
	for range 2 {
		e.passes(newGuest(""), 201)
		e.passes(newGuest("402951"), 201)
		e.passes(guestOf(""), 200)
	}
	e.refused(newGuest("402951"), "new players", 6*3600)
	e.passes(guestOf("402951"), 200)
}

// Who is refused for the day takes nothing of what an arena may have of others.
func TestGuestsBeyondADayLeaveTheArenaItsOwn(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	e := enter(t, Limits{
		ArenaGuests: hourly("arena", 5), Guests: hourly("guests", 1),
		GuestsADay: limit.New(limit.Config{}).Rule(limit.RuleConfig{Name: "day", Subject: "new players", Limit: 2, Per: 24 * time.Hour}),
	}, func(c *Config) {
		c.Address = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	for range 2 {
		e.passes(newGuest("402951"), 201)
	}
	for range 10 {
		e.refused(newGuest("402951"), "new players", 12*3600)
	}
	address = "10.0.0.2"
	for range 2 {
		e.passes(newGuest("402951"), 201)
	}
	address = "10.0.0.3"
	if made := e.madeBy(newGuest("402951")); made != 2 {
		t.Errorf("%d new guests, want the last of the arena's 5 and 1 of the address", made)
	}
}

// Who calls too often for players is refused before anything is read.
func TestGuestCallsAreCountedFirst(t *testing.T) {
	t.Parallel()
	e := enter(t, Limits{GuestCalls: twice("calls")})
	large := send("POST", demo+"/guests", `{"device":"`+strings.Repeat("x", 5<<10)+`"}`)
	e.passes(large, http.StatusRequestEntityTooLarge)
	e.passes(guestOf(""), 200)
	for _, c := range []call{large, guestOf(""), send("POST", demo+"/guests", `{`)} {
		e.refused(c, "calls", half)
	}
}

// A store that is out of reach is no wrong code.
func TestCodesWithoutAStore(t *testing.T) {
	t.Parallel()
	e := enter(t, Limits{Codes: &limit.FailureLimiter{PerAddress: twice("codes")}})
	e.world.fail = errStore
	for range 3 {
		e.passes(newGuest("402951"), 503)
	}
	e.world.fail = nil
	e.passes(get(demo+"/arenas/402951"), 200)
}
