package sink

import (
	"errors"
	"net/http"
	"testing"

	"laststand/internal/eventq"
)

func TestSendWithoutReadingKeys(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, func(_ *fakeOptions, near *NPPAOptions) {
		near.Keys = func() ([]string, error) { return nil, errors.New("no such file") }
	})
	if o := s.send(t, guest()); o.Code != "keys" || o.Delivery != eventq.TryAgain {
		t.Errorf("%+v", o)
	}
}

// During a change of keys nothing is lost, and only the first attempt is made
// twice.
func TestNPPAKeysChange(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	expect := func(step string, wrongSignatures int) {
		t.Helper()
		if o := s.send(t, guest()); o.Code != "0" {
			t.Errorf("%s: %+v", step, o)
		}
		if n := s.fake.AnswerCounts()[1011]; n != wrongSignatures {
			t.Errorf("%s: %d signatures were wrong, want %d", step, n, wrongSignatures)
		}
	}
	s.keys.Store(&[]string{vectorKey, nextKey})
	expect("the next key is known", 0)
	s.fake.SetKeys(vectorKey, nextKey)
	expect("both are valid", 0)
	s.fake.SetKeys(nextKey)
	expect("the old key is not", 1)
	expect("again", 1)
	s.keys.Store(&[]string{nextKey})
	expect("the old key is taken out", 1)
	s.keys.Store(&[]string{"not yet", nextKey})
	expect("a key is being written", 1)
}

func TestNoKeyIsTaken(t *testing.T) {
	t.Parallel()
	s := newTestSystem(t, nil)
	s.fake.SetKeys("ffeeddccbbaa99887766554433221100")
	s.keys.Store(&[]string{vectorKey, nextKey})
	o := s.send(t, guest())
	if o.Code != "1011" || o.Delivery != eventq.Forbidden || s.fake.AnswerCounts()[1011] != 2 {
		t.Errorf("%+v, answers %v", o, s.fake.AnswerCounts())
	}
	s.faults <- errcode(1012)
	s.faults <- status(http.StatusBadGateway)
	if o = s.send(t, guest()); o.Code != "http 502" || o.Delivery != eventq.TryAgain {
		t.Errorf("the other key may yet be taken: %+v", o)
	}
}
