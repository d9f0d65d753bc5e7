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
	return limit.New(limit.Config{}).Rule(limit.Terms{Name: what, What: what, Most: most, Per: time.Hour})
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
		"guests":     {Limits{Guests: twice("guests")}, [3]call{guestOf(""), guestOf("none"), guestOf("999999")}},
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
	e := enter(t, Limits{Behaviours: limit.New(limit.Config{}).Rule(limit.Terms{Name: "b", What: "behaviours", Most: 100, Per: time.Hour})})
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
	e := enter(t, Limits{Codes: &limit.Guesses{Wrong: twice("codes")}, Guests: twice("guests")})
	right, wrong := get(demo+"/arenas/402951"), get(demo+"/arenas/999999")
	for range 5 {
		e.passes(get(demo+"/arenas/40295"), 404) // no code: it says nothing
	}
	e.passes(wrong, 404)
	e.passes(guestOf("999999"), 200)
	e.refused(wrong, "codes", half)
	e.refused(right, "codes", half)
	e.world.code = ""
	e.passes(guestOf("402951"), 200)
	if e.world.code != "" {
		t.Error("the code was tried")
	}
	e.refused(guestOf("402951"), "guests", half)
	e.passes(send("POST", demo+"/arenas", newArena, bearerGood), 201) // of the code 402951
	for range 5 {
		e.passes(right, 200)
		e.passes(guestOf("402951"), 200)
	}

	e = enter(t, Limits{Codes: &limit.Guesses{Wrong: twice("codes")}})
	e.passes(right, 200)
	e.passes(wrong, 404)
	e.passes(wrong, 404)
	e.refused(wrong, "codes", half)
	for range 5 {
		e.passes(right, 200)
		e.passes(guestOf("402951"), 200)
	}
}

// An arena bears the guests that come with its code, so many in a minute, and
// new ones: twice its places, and its places by one address. All others are the
// address's, also those of one that is over.
func TestGuestsOfArenas(t *testing.T) {
	t.Parallel()
	const places = 3 // of the world's arenas
	comes := guestOf("402951")
	isNew := send("POST", demo+"/guests", `{"device":"`+device+`","nickname":"Ada","arena":"402951"}`)
	for name, c := range map[string]struct {
		limits Limits
		calls  []call
		borne  int
	}{
		"over":           {Limits{}, []call{guestOf("000001")}, 0},
		"by address":     {Limits{ComingTo: hourly("coming", 5)}, []call{comes, isNew}, 5},
		"by arena":       {Limits{ArenaGuests: hourly("arena", 5)}, []call{comes}, 5},
		"new ones":       {Limits{ArenaSeats: hourly("seats", 1)}, []call{isNew}, 2 * places},
		"new of address": {Limits{ArenaShare: hourly("share", 1)}, []call{isNew}, places},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.limits.Guests = twice("guests")
			e := enter(t, c.limits)
			for i := range c.borne + 2 {
				one := c.calls[i%len(c.calls)]
				if rec := answerTo(e, e, one); rec.Code >= 300 {
					t.Errorf("call %d: %d %s", i, rec.Code, rec.Body)
				}
			}
			if rec := answerTo(e, e, c.calls[0]); rec.Code != http.StatusTooManyRequests {
				t.Errorf("after that: %d", rec.Code)
			}
		})
	}
	known := enter(t, Limits{ArenaSeats: hourly("seats", 1), ArenaShare: hourly("share", 1), Guests: twice("guests")})
	for range 3 * places {
		known.passes(comes, 200) // a known one takes no place
	}
}

// One client that comes as ever new devices closes an arena to nobody: others of
// its address come as guests of the address, those of others by the arena.
func TestOneClientTakesNoArena(t *testing.T) {
	t.Parallel()
	address := "10.0.0.1"
	e := enter(t, Limits{ArenaSeats: hourly("seats", 1), ArenaShare: hourly("share", 1), Guests: hourly("guests", 60)}, func(c *Config) {
		c.Address = func(*http.Request) netip.Addr { return netip.MustParseAddr(address) }
	})
	isNew := send("POST", demo+"/guests", `{"device":"`+device+`","nickname":"Ada","arena":"402951"}`)
	const share, ofAddress = 3, 60
	made := 0
	for answerTo(e, e, isNew).Code == http.StatusCreated {
		made++
	}
	if made != share+ofAddress {
		t.Errorf("one client has made %d players, want %d", made, share+ofAddress)
	}
	e.refused(isNew, "guests", 60) // the next comes in a minute, not in a day
	address = "10.0.0.2"
	for range share {
		e.passes(isNew, 201)
	}
	address = "10.0.0.3" // the arena bears no more, the address does
	e.passes(isNew, 201)
}

// A store that is out of reach is no wrong code.
func TestCodesWithoutAStore(t *testing.T) {
	t.Parallel()
	e := enter(t, Limits{Codes: &limit.Guesses{Wrong: twice("codes")}})
	e.world.fail = errStore
	for range 3 {
		e.passes(guestOf("402951"), 503)
	}
	e.world.fail = nil
	e.passes(get(demo+"/arenas/402951"), 200)
}
