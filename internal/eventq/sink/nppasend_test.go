package sink

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"laststand/internal/eventq"
)

func TestSend(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	if o := s.send(t, verified(), guest()); o.Code != "0" || o.Delivery != eventq.Delivered || o.Items != nil {
		t.Fatalf("%+v", o)
	}
	want := []fakeRecord{
		{No: 1, SI: session("s1"), BT: 1, OT: 1584949893, CT: 0, PI: pi},
		{No: 2, SI: session("s2"), BT: 0, OT: 1584949893, CT: 2, DI: fitID("d")},
	}
	if got := s.collected(); !slices.Equal(got, want) {
		t.Errorf("accepted %+v, want %+v", got, want)
	}
}

func TestSendToTheTestSystem(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, func(_ *fakeOptions, near *NPPAOptions) { near.URL, near.TestCode = TestPath, testCode })
	if o := s.send(t, guest()); o.Code != "0" || len(s.collected()) != 1 {
		t.Errorf("%+v", o)
	}
	s = newTestSystem(t, func(_ *fakeOptions, near *NPPAOptions) { near.URL, near.TestCode = TestPath, "over" })
	if o := s.send(t, guest()); o.Code != "4002" || o.Delivery != eventq.Forbidden {
		t.Errorf("a test that is over: %+v", o)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()
	o := NPPAOptions{HTTP: new(http.Client), AppID: "a", BizID: "b", Keys: func() ([]string, error) { return nil, nil }}
	s, err := NewNPPA(o)
	if err != nil || s.endpoint != "http://api2.wlc.nppa.gov.cn/behavior/collection/loginout" {
		t.Errorf("%+v, %v", s, err)
	}
	o.TestCode = "c0de"
	if s, err = NewNPPA(o); err != nil || s.endpoint != "https://wlc.nppa.gov.cn/test/collection/loginout/c0de" {
		t.Errorf("%+v, %v", s, err)
	}
	if _, err = NewNPPA(NPPAOptions{URL: "ftp://a"}); err == nil {
		t.Error("a URL of FTP is accepted")
	}
}

// An errcode for a wrong configuration blocks the game.
func TestSendWithAWrongConfiguration(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		change func(far *fakeOptions, near *NPPAOptions)
		code   string
	}{
		"address": {func(_ *fakeOptions, near *NPPAOptions) { near.URL = "/behavior/loginout" }, "1002"},
		"not allowed": {func(far *fakeOptions, _ *NPPAOptions) {
			far.Allow = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		}, "1005"},
		"company": {func(_ *fakeOptions, near *NPPAOptions) { near.AppID = "other" }, "1008"},
		"game":    {func(_ *fakeOptions, near *NPPAOptions) { near.BizID = "other" }, "1009"},
		"key":     {func(far *fakeOptions, _ *NPPAOptions) { far.Keys = []string{nextKey} }, "1011"},
		"no key":  {func(_ *fakeOptions, near *NPPAOptions) { near.Keys = func() ([]string, error) { return nil, nil } }, "keys"},
		"no such key": {func(_ *fakeOptions, near *NPPAOptions) {
			near.Keys = func() ([]string, error) { return []string{"secret"}, nil }
		}, "keys"},
	}
	for name, test := range tests {
		s := newTestSystem(t, test.change)
		o := s.send(t, guest())
		if o.Code != test.code || o.Delivery != eventq.Forbidden || o.Items != nil || len(s.collected()) > 0 {
			t.Errorf("%s: %+v", name, o)
		}
	}
}

// The answer may list failed items in two forms.
func TestSendInPart(t *testing.T) {
	t.Parallel()
	for _, all := range []bool{false, true} {
		s := newTestSystem(t, func(far *fakeOptions, _ *NPPAOptions) { far.ListAll = all })
		wrong := verified()
		wrong.PI = "zzzzzz" + pi[6:] // of no day
		o := s.send(t, guest(), wrong, verified())
		if want := []eventq.Delivery{eventq.Delivered, eventq.Refused, eventq.Delivered}; o.Code != "3001" || !slices.Equal(o.Items, want) {
			t.Errorf("all listed: %v: %+v", all, o)
		}
		if !strings.Contains(o.Err.Error(), "3010") || strings.Contains(o.Err.Error(), wrong.PI) {
			t.Errorf("why: %v", o.Err)
		}
		if len(s.collected()) != 2 {
			t.Error("not two were accepted")
		}
	}
}

// Items that can never be reported do not hold up the others.
func TestSendWithoutTheUnreportable(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	other, stale := guest(), guest()
	other.Type, stale.At = "answer", vectorNow-200_000
	o := s.send(t, other, guest(), stale, verified())
	want := []eventq.Delivery{eventq.Refused, eventq.Delivered, eventq.Refused, eventq.Delivered}
	if o.Code != "0" || !slices.Equal(o.Items, want) {
		t.Errorf("%+v", o)
	}
	records := s.collected()
	if len(records) != 2 || records[0].No != 1 || records[1].No != 2 {
		t.Errorf("accepted %+v", records)
	}
	if o = s.send(t, other, stale); o.Delivery != eventq.Refused || o.Code != "unsent" || len(s.fake.AnswerCounts()) != 1 {
		t.Errorf("nothing to report: %+v", o)
	}
}

// Every answer that does not come from the interface allows a retry.
func TestSendMeetsFaults(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		fault http.HandlerFunc
		code  string
	}{
		"a gateway":          {status(http.StatusBadGateway), "http 502"},
		"an empty success":   {status(http.StatusNoContent), "unreadable"},
		"a page":             {status(http.StatusOK), "unreadable"},
		"a cut":              {cut, "transport"},
		"an endless answer":  {body(`{"errcode":0,"errmsg":"` + strings.Repeat("a", maxReply) + `"}`), "unreadable"},
		"a fault of its own": {errcode(1001), "1001"},
	}
	for name, test := range tests {
		s := newTestSystem(t, nil)
		s.faults <- test.fault
		if o := s.send(t, guest()); o.Code != test.code || o.Delivery != eventq.TryAgain || o.Items != nil || o.RetryAfter != 0 {
			t.Errorf("%s: %+v", name, o)
		}
		if o := s.send(t, guest()); o.Code != "0" {
			t.Errorf("after %s: %+v", name, o)
		}
	}
}

func TestSendGivesUp(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	s.faults <- never
	s.faults <- never
	b := eventq.Batch{Now: vectorNow, Items: []eventq.Item{item(t, guest())}}
	late, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if o := s.sink.Send(late, b); o.Code != "timeout" || o.Delivery != eventq.TryAgain {
		t.Errorf("late: %+v", o)
	}
	stopped, stop := context.WithCancel(t.Context())
	stop()
	if o := s.sink.Send(stopped, b); o.Code != "canceled" || o.Delivery != eventq.TryAgain {
		t.Errorf("stopped: %+v", o)
	}
}

// The tenth request within a second passes; the next one causes a ban of the game.
func TestSendIsBanned(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, func(far *fakeOptions, _ *NPPAOptions) { far.PerSecond = 10 })
	for range 10 {
		if o := s.send(t, guest()); o.Code != "0" {
			t.Fatalf("%+v", o)
		}
	}
	for range 2 {
		o := s.send(t, guest())
		if o.Code != "1006" || o.Delivery != eventq.TryAgain || o.RetryAfter != time.Minute {
			t.Fatalf("over the limit: %+v", o)
		}
		s.now.Add(59_999)
	}
	b := guest()
	b.At = s.now.Add(1) - 1000
	if o := s.send(t, b); o.Code != "0" {
		t.Errorf("after the ban: %+v", o)
	}
}

// Every attempt is signed for its own instant, with its own nonce.
func TestRetriesAreSignedAfresh(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	var seen [][]byte
	s.sink.HTTP = &http.Client{Transport: recordingTransport{s.sink.HTTP.Transport, func(r *http.Request) {
		raw, err := httputil.DumpRequestOut(r, true)
		if err != nil {
			t.Error(err)
		}
		seen = append(seen, raw)
	}}}
	s.faults <- errcode(1007)
	if o := s.send(t, guest()); o.Code != "1007" || o.Delivery != eventq.TryAgain {
		t.Errorf("%+v", o)
	}
	s.now.Add(6000) // the first signature would have expired
	if o := s.send(t, guest()); o.Code != "0" {
		t.Errorf("%+v", o)
	}
	for i, line := range []string{"timestamps: 1584949895758", "timestamps: 1584949901758"} {
		for _, want := range []string{line, "appId: test-appId", "bizId: test-bizId", "sign: ", "Content-Type: application/json; charset=utf-8"} {
			if !bytes.Contains(seen[i], []byte("\r\n"+want)) {
				t.Errorf("try %d has no %q:\n%s", i+1, want, seen[i])
			}
		}
	}
	_, first, _ := bytes.Cut(seen[0], []byte(`{"data":"`))
	_, second, _ := bytes.Cut(seen[1], []byte(`{"data":"`))
	if bytes.Equal(first[:16], second[:16]) {
		t.Error("a nonce was used twice")
	}
}

// recordingTransport passes each request to look before it is sent.
type recordingTransport struct {
	http.RoundTripper
	look func(*http.Request)
}

func (w recordingTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	w.look(r)
	return w.RoundTripper.RoundTrip(r)
}

// The specification does not limit the body; this is our longest one.
func TestFullBatchOfTheLongest(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	var longest int64
	s.sink.HTTP = &http.Client{Transport: recordingTransport{s.sink.HTTP.Transport, func(r *http.Request) { longest = r.ContentLength }}}
	full := make([]eventq.Behaviour, eventq.MaxBatch)
	for i := range full {
		full[i] = verified()
		full[i].Session = fmt.Sprintf("%0100d", i)
	}
	if o := s.send(t, full...); o.Code != "0" || len(s.collected()) != eventq.MaxBatch {
		t.Errorf("%+v", o)
	}
	if longest > 21_700 {
		t.Errorf("the body has %d bytes", longest)
	}
}

func TestConcurrentSends(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	s.keys.Store(&[]string{nextKey, vectorKey})
	var sends sync.WaitGroup
	const senders, each = 8, 10
	for range senders {
		sends.Go(func() {
			for range each {
				if o := s.send(t, guest(), verified()); o.Code != "0" {
					t.Errorf("%+v", o)
				}
			}
		})
	}
	sends.Wait()
	if n := len(s.collected()); n != 2*senders*each {
		t.Errorf("%d records were accepted", n)
	}
}

// Errors contain no personal data and no key.
func TestErrorsAreDiscreet(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, func(_ *fakeOptions, near *NPPAOptions) {
		near.URL, near.TestCode = TestPath, "secret-code"
	})
	s.sink.HTTP = &http.Client{Transport: brokenTransport{}}
	b, wrong := verified(), verified()
	b.Player, b.Device, wrong.PI = "player-name", "device-name", pi[1:]
	o := s.send(t, b, wrong)
	for _, secret := range []string{pi[1:], "player-name", "device-name", vectorKey, "secret-code", "s1"} {
		if strings.Contains(o.Err.Error(), secret) {
			t.Errorf("%q is in %v", secret, o.Err)
		}
	}
	if o.Code != "transport" || itemDelivery(o, 0) != eventq.TryAgain || itemDelivery(o, 1) != eventq.Refused {
		t.Errorf("%+v", o)
	}
}

// Errors also quote no answer that is not HTTP.
func TestErrorsQuoteNothing(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		_, _ = io.WriteString(conn, "for "+pi+"\r\n\r\n")
		_ = conn.Close()
	}))
	t.Cleanup(server.Close)
	s := newTestSystem(t, nil)
	s.sink.endpoint = server.URL
	if o := s.send(t, verified()); o.Code != "transport" || strings.Contains(o.Err.Error(), pi[:8]) {
		t.Errorf("%+v", o)
	}
}

type brokenTransport struct{}

func (brokenTransport) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, io.ErrUnexpectedEOF
}
