package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"laststand/internal/loadshed"
	"laststand/internal/protocol"
)

// pressed is a Pressure that refuses one thing, and so many requests.
type pressed struct {
	refuses loadshed.Kind
	room    int
}

func (p *pressed) ShouldShed(w loadshed.Kind) bool { return w == p.refuses }

func (p *pressed) Check(w loadshed.Kind) error {
	if !p.ShouldShed(w) {
		return nil
	}
	return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
}

func (p *pressed) AcquireRequest() error {
	if p.room <= 0 {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	p.room--
	return nil
}

func (p *pressed) ReleaseRequest() { p.room++ }

// What a hard-pressed node refuses, and whom: reading without a token, guests, the
// making of arenas. All else is answered.
func TestShed(t *testing.T) {
	t.Parallel()
	reads := []call{
		get(demo + "/leaderboards"), get(demo + "/leaderboards/7d"), get(demo + "/leaderboards/7d/p_1"), get(demo + "/players/p_1"),
		get(demo + "/players/p_1/matches"), get(demo + "/matches/m_1"), get(demo + "/nicknames/Ada"),
	}
	guest := send("POST", demo+"/guests", `{"device":"`+device+`"}`)
	made := send("POST", demo+"/arenas", newArena, bearerGood)
	calm := []call{get("/healthz"), get("/readyz"), get("/openapi.yaml"), get(demo + "/arenas/402951"), send("PUT", demo+"/players/me/nickname", `{"nickname":"Bob"}`, bearerGood)}
	for what, refused := range map[loadshed.Kind][]call{"": nil, loadshed.Reading: reads, loadshed.NewGuests: {guest}, loadshed.Joining: {made}} {
		h := configOf(&world{})
		h.Pressure = &pressed{refuses: what, room: 1}
		handler := New(h)
		status := func(c call) int { return answerTo(t, handler, c).Code }
		for _, c := range append(append(calm, guest, made), reads...) {
			want := false
			for _, r := range refused {
				want = want || r.target == c.target && r.method == c.method
			}
			if got := status(c); want != (got == http.StatusServiceUnavailable) {
				t.Errorf("while %q is refused: %s %s is answered %d", what, c.method, c.target, got)
			}
			if c.headers = append(c.headers, bearerGood); what == loadshed.Reading && want && status(c) != http.StatusOK {
				t.Errorf("with a token: %s %s is refused", c.method, c.target)
			}
			if c.headers[len(c.headers)-1] = "Authorization: Bearer forged"; what == loadshed.Reading && want && status(c) != http.StatusServiceUnavailable {
				t.Errorf("with a forged token: %s %s is answered", c.method, c.target)
			}
		}
	}
}

// Requests have their room, each until it has ended; health is told without.
func TestRequestsUnderWay(t *testing.T) {
	t.Parallel()
	c := configOf(&world{})
	room := &pressed{room: 1}
	c.Pressure = room
	h := New(c)
	for range 3 {
		if rec := answerTo(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("one after the other: %d", rec.Code)
		}
	}
	room.room = 0
	rec := answerTo(t, h, get(demo+"/leaderboards"))
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || room.room != 0 {
		t.Errorf("without room: %d, %v", rec.Code, rec.Header())
	}
	if rec := answerTo(t, h, get("/healthz")); rec.Code != http.StatusOK {
		t.Errorf("health: %d", rec.Code)
	}
}

// waited says when it is read for the first time.
type waited struct {
	io.Reader
	begun chan struct{}
	once  sync.Once
}

func (w *waited) Read(b []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return w.Reader.Read(b)
}

// slowGuest asks a handler for a player by a body that waits for its end, and
// gives what has it end and what gives the answer then.
func slowGuest(h http.Handler) (end func(), answer chan *httptest.ResponseRecorder) {
	rest, write := io.Pipe()
	await := &waited{Reader: rest, begun: make(chan struct{})}
	r := httptest.NewRequest(http.MethodPost, demo+"/guests", io.MultiReader(strings.NewReader(`{"device":"`+device), await))
	r.Header.Set("Content-Type", "application/json")
	answer = make(chan *httptest.ResponseRecorder, 1)
	go func() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		answer <- rec
	}()
	<-await.begun
	return func() { _, _ = write.Write([]byte(`"}`)); _ = write.Close() }, answer
}

// Who sends a body slowly has nobody's place; once it has come there has to be one.
func TestASlowBodyTakesNoPlace(t *testing.T) {
	t.Parallel()
	for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		c := configOf(&world{})
		gauge := loadshed.New(loadshed.Config{MaxRequests: 1})
		c.Pressure = gauge
		h := New(c)
		end, guest := slowGuest(h)
		if rec := answerTo(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("beside a slow body: %d", rec.Code)
		}
		if want != http.StatusOK {
			if err := gauge.AcquireRequest(); err != nil {
				t.Fatal(err)
			}
		}
		end()
		if rec := <-guest; rec.Code != want || (want != http.StatusOK) != (rec.Header().Get("Retry-After") != "") {
			t.Errorf("the slow one: %d %s, want %d", rec.Code, rec.Body, want)
		}
		if want != http.StatusOK {
			gauge.ReleaseRequest()
		}
		if rec := answerTo(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("after it: %d", rec.Code)
		}
	}
}

// unread is an answer whose client does not read it.
type unread struct {
	*httptest.ResponseRecorder
	begun, read chan struct{}
}

func (s unread) Write(b []byte) (int, error) {
	close(s.begun)
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// Who reads an answer slowly has nobody's place either.
func TestASlowReaderTakesNoPlace(t *testing.T) {
	t.Parallel()
	c := configOf(&world{})
	c.Pressure = loadshed.New(loadshed.Config{MaxRequests: 1})
	h := New(c)
	slow := unread{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil))
	}()
	<-slow.begun
	if rec := answerTo(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
		t.Errorf("beside a slow reader: %d", rec.Code)
	}
	close(slow.read)
	<-ended
}
