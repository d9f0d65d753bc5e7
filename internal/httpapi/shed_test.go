package httpapi

import (
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"

	"laststand/internal/overload"
	"laststand/internal/protocol"
)

// fakeShedder refuses the kind refused and has freeSlots free slots.
type fakeShedder struct {
	refused   overload.Kind
	freeSlots int
}

func (s *fakeShedder) ShouldShed(kind overload.Kind) bool { return kind == s.refused }

func (s *fakeShedder) Check(kind overload.Kind) error {
	if !s.ShouldShed(kind) {
		return nil
	}
	return protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
}

func (s *fakeShedder) Acquire(overload.Kind) (release func(), err error) {
	if s.freeSlots <= 0 {
		return nil, protocol.RetryAfter(protocol.CodeOverloaded, 4000, "too much to do")
	}
	s.freeSlots--
	return func() { s.freeSlots++ }, nil
}

// An overloaded node refuses reads without a token, guests, or new arenas,
// according to the kind that it sheds. It answers everything else.
func TestAnOverloadedNodeRefusesByKind(t *testing.T) {
	t.Parallel()
	reads := []call{
		getCall(demoPath + "/leaderboards"), getCall(demoPath + "/leaderboards/7d"), getCall(demoPath + "/leaderboards/7d/p_1"), getCall(demoPath + "/players/p_1"),
		getCall(demoPath + "/players/p_1/matches"), getCall(demoPath + "/matches/m_1"), getCall(demoPath + "/nicknames/Ada"),
	}
	guest := jsonCall("POST", demoPath+"/guests", `{"device":"`+device+`"}`)
	createArena := jsonCall("POST", demoPath+"/arenas", newArenaJSON, bearerGood)
	answered := []call{getCall("/healthz"), getCall("/readyz"), getCall("/openapi.yaml"), getCall(demoPath + "/arenas/402951"), jsonCall("PUT", demoPath+"/players/me/nickname", `{"nickname":"Bob"}`, bearerGood)}
	for kind, refused := range map[overload.Kind][]call{"": nil, overload.Reading: reads, overload.NewGuests: {guest}, overload.Joining: {createArena}} {
		config := newTestConfig(&fakeBackend{})
		config.LoadShedder = &fakeShedder{refused: kind, freeSlots: 1}
		handler := New(config)
		status := func(c call) int { return serve(t, handler, c).Code }
		for _, c := range append(append(answered, guest, createArena), reads...) {
			want := false
			for _, r := range refused {
				want = want || r.target == c.target && r.method == c.method
			}
			if got := status(c); want != (got == http.StatusServiceUnavailable) {
				t.Errorf("while %q is refused: %s %s is answered %d", kind, c.method, c.target, got)
			}
			if c.headers = append(c.headers, bearerGood); kind == overload.Reading && want && status(c) != http.StatusOK {
				t.Errorf("with a token: %s %s is refused", c.method, c.target)
			}
			if c.headers[len(c.headers)-1] = "Authorization: Bearer forged"; kind == overload.Reading && want && status(c) != http.StatusServiceUnavailable {
				t.Errorf("with a forged token: %s %s is answered", c.method, c.target)
			}
		}
	}
}

// A request occupies a slot until it ends. Health checks need no slot.
func TestConcurrentRequestsAreLimited(t *testing.T) {
	t.Parallel()
	c := newTestConfig(&fakeBackend{})
	shedder := &fakeShedder{freeSlots: 1}
	c.LoadShedder = shedder
	h := New(c)
	for range 3 {
		if rec := serve(t, h, getCall(demoPath+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("a single request: %d", rec.Code)
		}
	}
	shedder.freeSlots = 0
	rec := serve(t, h, getCall(demoPath+"/leaderboards"))
	if rec.Code != http.StatusServiceUnavailable || rec.Header().Get("Retry-After") == "" || shedder.freeSlots != 0 {
		t.Errorf("without a free slot: %d, %v", rec.Code, rec.Header())
	}
	if rec := serve(t, h, getCall("/healthz")); rec.Code != http.StatusOK {
		t.Errorf("health: %d", rec.Code)
	}
}

// signallingReader closes started at the first Read.
type signallingReader struct {
	io.Reader
	started chan struct{}
	once    sync.Once
}

func (s *signallingReader) Read(b []byte) (int, error) {
	s.once.Do(func() { close(s.started) })
	return s.Reader.Read(b)
}

// sendSlowGuestRequest sends a request for a guest. Its body does not end until the caller calls end.
// Then the channel gets the response.
func sendSlowGuestRequest(h http.Handler) (end func(), response chan *httptest.ResponseRecorder) {
	reader, writer := io.Pipe()
	body := &signallingReader{Reader: reader, started: make(chan struct{})}
	r := httptest.NewRequest(http.MethodPost, demoPath+"/guests", io.MultiReader(strings.NewReader(`{"device":"`+device), body))
	r.Header.Set("Content-Type", "application/json")
	response = make(chan *httptest.ResponseRecorder, 1)
	go func() {
		rec := httptest.NewRecorder()
		h.ServeHTTP(rec, r)
		response <- rec
	}()
	<-body.started
	return func() { _, _ = writer.Write([]byte(`"}`)); _ = writer.Close() }, response
}

// A request whose body arrives slowly occupies no slot. After the body the request
// needs a free one.
func TestASlowBodyHoldsNoSlot(t *testing.T) {
	t.Parallel()
	for _, want := range []int{http.StatusOK, http.StatusServiceUnavailable} {
		c := newTestConfig(&fakeBackend{})
		shedder := overload.NewShedder(overload.ShedderConfig{MaxRequests: 1})
		c.LoadShedder = shedder
		handler := New(c)
		endBody, response := sendSlowGuestRequest(handler)
		if rec := serve(t, handler, getCall(demoPath+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("during a slow body: %d", rec.Code)
		}
		release := func() {}
		if want != http.StatusOK {
			var err error
			if release, err = shedder.Acquire(overload.Requests); err != nil {
				t.Fatal(err)
			}
		}
		endBody()
		if rec := <-response; rec.Code != want || (want != http.StatusOK) != (rec.Header().Get("Retry-After") != "") {
			t.Errorf("the slow request: %d %s, want %d", rec.Code, rec.Body, want)
		}
		release()
		if rec := serve(t, handler, getCall(demoPath+"/leaderboards")); rec.Code != http.StatusOK {
			t.Errorf("after the slow request: %d", rec.Code)
		}
	}
}

// unreadResponse is a response that the client does not read until read is closed.
type unreadResponse struct {
	*httptest.ResponseRecorder
	started, read chan struct{}
}

func (s unreadResponse) Write(b []byte) (int, error) {
	close(s.started)
	<-s.read
	return s.ResponseRecorder.Write(b)
}

// A request whose client reads the response slowly occupies no slot.
func TestASlowReaderHoldsNoSlot(t *testing.T) {
	t.Parallel()
	c := newTestConfig(&fakeBackend{})
	c.LoadShedder = overload.NewShedder(overload.ShedderConfig{MaxRequests: 1})
	handler := New(c)
	slow := unreadResponse{httptest.NewRecorder(), make(chan struct{}), make(chan struct{})}
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		handler.ServeHTTP(slow, httptest.NewRequest(http.MethodGet, "/openapi.yaml", nil))
	}()
	<-slow.started
	if rec := serve(t, handler, getCall(demoPath+"/leaderboards")); rec.Code != http.StatusOK {
		t.Errorf("while a client reads slowly: %d", rec.Code)
	}
	close(slow.read)
	<-ended
}
