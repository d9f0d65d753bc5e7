package players

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
)

// A client without a token never connects. If the refusal is temporary, the client retries
// and reports no violation. If it is final, the client reports it.
func TestASessionNeedsAGuest(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusServiceUnavailable: "", http.StatusNotFound: "no guest could be made"} {
		requests := make(chan string, 10)
		url := testenv.Serve(t, func(w http.ResponseWriter, r *http.Request) {
			requests <- r.Method
			w.WriteHeader(status)
		})
		found := new(checker.Checker)
		g := NewGroup(t.Context(), Config{Servers: func() []string { return []string{url} }, Checker: found, Stats: NewRecorder(time.Hour)})
		g.AddIdle(1)
		ended := make(chan struct{})
		go func() { // ends with the clients
			g.Wait()
			close(ended)
		}()
		first, isRetried := <-requests, false
		select {
		case <-requests:
			isRetried = true
		case <-ended:
		}
		g.Stop()
		<-ended
		listed, _ := found.Violations.All()
		got := strings.Join(listed, "")
		if first != http.MethodPost || isRetried != (want == "") || (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: it starts with %s, retries: %t, violations %q", status, first, isRetried, got)
		}
	}
}

// A page whose ranks fall is a violation, and so is any refusal that a strict reader gets,
// unless the server is overloaded.
func TestReadersCheckPages(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		status int
		body   string
		want   string
	}{
		"a good page":      {http.StatusOK, `{"entries":[{"rank":1},{"rank":2}]}`, ""},
		"falling ranks":    {http.StatusOK, `{"entries":[{"rank":2},{"rank":1}]}`, "the ranks [{2} {1}]"},
		"an error":         {http.StatusInternalServerError, `{}`, "status 500"},
		"an overload":      {http.StatusServiceUnavailable, `{}`, ""},
		"not even a frame": {http.StatusOK, `nothing`, "invalid character"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			answered := make(chan struct{}, 100)
			url := testenv.Serve(t, func(w http.ResponseWriter, _ *http.Request) {
				w.WriteHeader(test.status)
				_, _ = w.Write([]byte(test.body))
				answered <- struct{}{}
			})
			found := new(checker.Checker)
			g := NewGroup(t.Context(), Config{
				Servers: func() []string { return []string{url} }, Checker: found, Stats: NewRecorder(time.Hour), Strict: true,
				ReplyTimeout: 10 * time.Second, ReadInterval: time.Millisecond,
			})
			g.AddReaders(1)
			<-answered
			<-answered // the first answer has been checked
			g.Stop()
			g.Wait()
			listed, _ := found.Violations.All()
			if got := strings.Join(listed, "\n"); !strings.Contains(got, test.want) || (got == "") != (test.want == "") {
				t.Errorf("violations %q, want %q", got, test.want)
			}
		})
	}
}
