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

// fakeShedder refuses the kind refused and has freeSlots free slots.
type fakeShedder struct {
	refused   loadshed.Kind
	freeSlots int
}

func (p *fakeShedder) ShouldShed(w loadshed.Kind) bool { return w == p.refused }

func (p *fakeShedder) Check(w loadshed.Kind) error {
	if !p.ShouldShed(w) {
		return nil
	}
	return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
}

func (p *fakeShedder) AcquireRequest() error {
	if p.freeSlots <= 0 {
		return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	p.freeSlots--
	return nil
}

func (p *fakeShedder) ReleaseRequest() { p.freeSlots++ }

// An overloaded node refuses reads without a token, guests, or new arenas,
// according to the kind that it sheds. It answers everything else.
func TestAnOverloadedNodeRefusesByKind(t *testing.T) {
	t.Parallel()
	reads := []call{
		get(demo + "/leaderboards"), get(demo + "/leaderboards/7d"), get(demo + "/leaderboards/7d/p_1"), get(demo + "/players/p_1"),
		get(demo + "/players/p_1/matches"), get(demo + "/matches/m_1"), get(demo + "/nicknames/Ada"),
	}
	guest := send("POST", demo+"/guests", `{"device":"`+device+`"}`)
	created := send("POST", demo+"/arenas", newArena, bearerGood)
	answered := []call{get("/healthz"), get("/readyz"), get("/openapi.yaml"), get(demo + "/arenas/402951"), send("PUT", demo+"/players/me/nickname", `{"nickname":"Bob"}`, bearerGood)}
	for what, refused := range map[loadshed.Kind][]call{"": nil, loadshed.Reading: reads, loadshed.NewGuests: {guest}, loadshed.Joining: {created}} {
		h := configOf(&fakeBackend{})
		h.LoadShedder = &fakeShedder{refused: what, freeSlots: 1}
		handler := New(h)
		status := func(c call) int { return serve(t, handler, c).Code }
		for _, c := range append(append(answered, guest, created), reads...) {
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

// A request occupies a slot until it ends. Health checks need no slot.
func TestConcurrentRequestsAreLimited(t *testing.T) {
	t.Parallel()
	c := configOf(&fakeBackend{})
	shedder := &fakeShedder{freeSlots: 1}
	c.LoadShedder = shedder
	h := New(c)
	for range 3 {
		if rec := serve(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("a single request: %d", rec.Code)
		}
	}
	shedder.freeSlots = 0
	rec := serve(t, h, get(demo+"/leaderboards"))
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || shedder.freeSlots != 0 {
		t.Errorf("without a free slot: %d, %v", rec.Code, rec.Header())
	}
	if rec := serve(t, h, get("/healthz")); rec.Code != http.StatusOK {
		t.Errorf("health: %d", rec.Code)
	}
}

// signallingReader closes started at the first Read.
type signallingReader struct {
	io.Reader
	begun chan struct{}
	once  sync.Once
}

func (w *signallingReader) Read(b []byte) (int, error) {
	w.once.Do(func() { close(w.begun) })
	return w.Reader.Read(b)
}

// sendSlowGuestRequest sends a request for a guest. Its body does not end until the caller calls end.
// Then the channel gets the response.
func slowGuest(h http.Handler) (end func(), answer chan *httptest.ResponseRecorder) {
	rest, write := io.Pipe()
	await := &signallingReader{Reader: rest, begun: make(chan struct{})}
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

// A request whose body arrives slowly occupies no slot. After the body the request
// needs a free one.
func TestASlowBodyHoldsNoSlot(t *testing.T) {
	t.Parallel()
	for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		c := configOf(&fakeBackend{})
		gauge := loadshed.New(loadshed.Config{MaxRequests: 1})
		c.LoadShedder = gauge
		h := New(c)
		end, guest := slowGuest(h)
		if rec := serve(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("during a slow body: %d", rec.Code)
		}
		if want != http.StatusOK {
			if err := gauge.AcquireRequest(); err != nil {
				t.Fatal(err)
			}
		}
		end()
		if rec := <-guest; rec.Code != want || (want != http.StatusOK) != (rec.Header().Get("Retry-After") != "") {
			t.Errorf("the slow request: %d %s, want %d", rec.Code, rec.Body, want)
		}
		if want != http.StatusOK {
			gauge.ReleaseRequest()
		}
		if rec := serve(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("after the slow request: %d", rec.Code)
		}
	}
}

// unreadResponse is a response that the client does not read until read is closed.
type unreadResponse struct {
	*httptest.ResponseRecorder
	begun, read chan struct{}
}

func (s unreadResponse) Write(b []byte) (int, error) {
	close(s.begun)
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// A request whose client reads the response slowly occupies no slot.
func TestASlowReaderHoldsNoSlot(t *testing.T) {
	t.Parallel()
	c := configOf(&fakeBackend{})
	c.LoadShedder = loadshed.New(loadshed.Config{MaxRequests: 1})
	h := New(c)
	slow := unreadResponse{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		h.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil))
	}()
	<-slow.begun
	if rec := serve(t, h, get(demo+"/leaderboards")); rec.Code != http.StatusOK {
		t.Errorf("while a client reads slowly: %d", rec.Code)
	}
	close(slow.read)
	<-ended
}
