package sink

import (
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"laststand/internal/eventq"
)

const (
	nextKey  = "00112233445566778899aabbccddeeff"
	testCode = "case-07"
)

// testSystem is a sink and a fake of the interface, with one clock.
type testSystem struct {
	fake *fakeNPPA
	sink *NPPA
	keys atomic.Pointer[[]string] // of the sink
	now  atomic.Int64

	faults chan http.HandlerFunc // answers the next requests in place of the fake
}

// ServeHTTP answers with the next fault. Without one, the fake answers.
func (s *testSystem) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case fault := <-s.faults:
		_, _ = io.Copy(io.Discard, r.Body)
		fault(w, r)
	default:
		s.fake.ServeHTTP(w, r)
	}
}

// status is a fault: a page of a gateway.
func status(code int) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "<html>a gateway</html>", code) }
}

// body is a fault: an answer with any text.
func body(text string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, text) }
}

// errcode is a fault: an answer of the interface.
func errcode(code int) http.HandlerFunc {
	return body(fmt.Sprintf(`{"errcode":%d,"errmsg":"a fault","data":""}`, code))
}

// cut is a fault: the connection closes without an answer.
func cut(http.ResponseWriter, *http.Request) { panic(http.ErrAbortHandler) }

// never is a fault: no answer comes.
func never(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func newTestSystem(t *testing.T, change func(far *fakeOptions, near *NPPAOptions)) *testSystem {
	t.Helper()
	s := &testSystem{faults: make(chan http.HandlerFunc, 2)}
	s.now.Store(vectorNow)
	s.keys.Store(&[]string{vectorKey})
	far := fakeOptions{
		AppID: "test-appId", BizIDs: []string{"test-bizId"}, Keys: []string{vectorKey}, TestCode: testCode,
		Now: func() time.Time { return time.UnixMilli(s.now.Load()) },
	}
	near := NPPAOptions{AppID: "test-appId", BizID: "test-bizId", Keys: func() ([]string, error) { return *s.keys.Load(), nil }}
	if change != nil {
		change(&far, &near)
	}
	s.fake = newFake(far)
	server := httptest.NewServer(s)
	t.Cleanup(server.Close)
	near.HTTP = server.Client()
	if near.URL == "" {
		near.URL = ProductionPath
	}
	near.URL = server.URL + near.URL
	var err error
	if s.sink, err = NewNPPA(near); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.sink.Close() })
	return s
}

// send reports behaviours, and checks what holds for every outcome.
func (s *testSystem) send(t *testing.T, behaviours ...eventq.Behaviour) eventq.Outcome {
	t.Helper()
	b := eventq.Batch{ID: "b1", Game: "g", Now: s.now.Load()}
	for _, one := range behaviours {
		b.Items = append(b.Items, item(t, one))
	}
	o := s.sink.Send(t.Context(), b)
	if o.Items != nil && len(o.Items) != len(b.Items) {
		t.Errorf("%d fates for %d items", len(o.Items), len(b.Items))
	}
	lost := o.Items == nil && o.Delivery != eventq.Delivered ||
		slices.ContainsFunc(o.Items, func(f eventq.Delivery) bool { return f != eventq.Delivered })
	if lost != (o.Err != nil) {
		t.Errorf("it says why where something was not taken, and only there: %+v", o)
	}
	return o
}

// collected returns the accepted records.
func (s *testSystem) collected() (records []fakeRecord) {
	for _, report := range s.fake.TakeReports() {
		records = append(records, report.Items...)
	}
	return records
}
