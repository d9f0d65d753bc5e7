package clients

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"
	"time"

	"laststand/internal/protocol"
	player "laststand/loadtest/client"
)

// A process of the swarm reports its progress. It ends with its input, even while it tries
// to reach a server that does not exist.
func TestObeyEndsWithItsInput(t *testing.T) {
	t.Parallel()
	in, orders := io.Pipe()
	encoder, out := io.Pipe()
	ended := make(chan error, 1)
	go func() {
		ended <- RunProcess(t.Context(), in, out)
		_ = out.Close()
	}()
	if err := json.NewEncoder(orders).Encode(Plan{
		Name: "s0", Servers: []string{"http://127.0.0.1:1"}, Mint: true, Sources: true, Connects: 10_000, UpdateEvery: 10 * time.Millisecond,
		Idle: 2, Duellists: 2, Readers: 1, Behaviours: 100, ArenaGroups: []ArenaGroup{{Mode: "buzzer", Seats: 2}},
	}); err != nil {
		t.Fatal(err)
	}
	for lines, failed := json.NewDecoder(encoder), int64(0); failed == 0; {
		var s Update
		if err := lines.Decode(&s); err != nil {
			t.Fatal(err)
		}
		if s.Connected != 0 {
			t.Errorf("%d are connected", s.Connected)
		}
		failed += s.Slice.Counts["connect failed"]
	}
	if err := orders.Close(); err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(io.Discard, encoder)
	if err := <-ended; err == nil {
		t.Error("it ended as if it had been told to")
	}
}

// A second answer has the same kind and a different value.
func TestAnother(t *testing.T) {
	t.Parallel()
	for _, q := range []protocol.Question{
		{Kind: "single", Choices: []string{"a", "b"}}, {Kind: "boolean", Choices: []string{"a", "b"}}, {Kind: "multiple", Choices: []string{"a", "b"}},
		{Kind: "number"}, {Kind: "text"},
	} {
		one := player.ArbitraryAnswer(q)
		other := another(q, one)
		if reflect.DeepEqual(one, other) || (one.Choice == nil) != (other.Choice == nil) || (one.Choices == nil) != (other.Choices == nil) || (one.Value == nil) != (other.Value == nil) {
			t.Errorf("%s: %+v, then %+v", q.Kind, one, other)
		}
	}
	both := protocol.Given{Choices: []int{0, 1}}
	if other := another(protocol.Question{Choices: []string{"a", "b"}}, both); len(other.Choices) != 1 {
		t.Errorf("%+v", other)
	}
}

// A client without a token never connects. If the refusal is temporary, the client retries
// and reports no violation. If it is final, the client reports the refusal.
func TestNoGuest(t *testing.T) {
	t.Parallel()
	for status, want := range map[int]string{http.StatusServiceUnavailable: "", http.StatusNotFound: "no guest could be made"} {
		asked := make(chan string, 10)
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked <- r.Method
			w.WriteHeader(status)
		}))
		c := Start(t.Context(), Plan{Name: "s0", Servers: []string{server.URL}, Idle: 1})
		ended := make(chan struct{})
		go func() { // ends with the clients
			c.Wait()
			close(ended)
		}()
		first, again := <-asked, false
		select {
		case <-asked:
			again = true
		case <-ended:
		}
		c.Stop()
		<-ended
		server.Close()
		s, err := c.TakeUpdate()
		if err != nil || first != http.MethodPost || again != (want == "") {
			t.Errorf("%d: %v; it began with %s, and asked again: %v", status, err, first, again)
		}
		if got := strings.Join(s.Violations, ""); (got == "") != (want == "") || !strings.Contains(got, want) {
			t.Errorf("%d: %q is untrue", status, got)
		}
	}
}
