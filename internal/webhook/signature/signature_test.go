package signature

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"
)

const vectorKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// This is the test vector of the libraries of the specification.
func TestSignEqualsTheTestVector(t *testing.T) {
	t.Parallel()
	got, err := Sign(testKeys(t, vectorKey), "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	want := Headers{ID: "msg_p5jXN8AQM9LWM0D4loKWxJek", Timestamp: "1614265330", Signature: "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
	if err != nil || got != want {
		t.Errorf("Sign = %+v, %v, want %+v", got, err, want)
	}
}

// During a change of keys, a receiver with either key accepts a message signed
// with both. A receiver with both accepts one signed with either.
func TestVerifyWhileKeysChange(t *testing.T) {
	t.Parallel()
	now, body := time.Unix(1_795_000_000, 0), []byte(`{}`)
	old, young := testKeys(t, vectorKey), testKeys(t, "whsec_"+strings.Repeat("QUJD", 8))
	both := slices.Concat(old, young)
	for name, pair := range map[string]struct{ signs, knows []Key }{
		"the receiver has the old key": {both, old}, "the receiver has the new key": {both, young}, "the sender has the old key": {old, both}, "the sender has the new key": {young, both},
	} {
		h, err := Sign(pair.signs, "a", now, body)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(pair.knows, h, body, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	h, _ := Sign(both, "a", now, body)
	if n := len(strings.Split(h.Signature, " ")); n != 2 {
		t.Errorf("%d signatures by 2 keys", n)
	}
}

func TestVerifyRefusesForgedAndOldMessages(t *testing.T) {
	t.Parallel()
	now, body, known := time.Unix(1_795_000_000, 0), []byte(`{"a":1}`), testKeys(t, vectorKey)
	h, err := Sign(known, "msg_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	with := func(change func(*Headers)) Headers {
		changed := h
		change(&changed)
		return changed
	}
	tests := map[string]struct {
		h    Headers
		body string
		keys []Key
		now  time.Time
		want error
	}{
		"a valid message":           {h, `{"a":1}`, known, now, nil},
		"as early as allowed":       {h, `{"a":1}`, known, now.Add(-Tolerance), nil},
		"as late as allowed":        {h, `{"a":1}`, known, now.Add(Tolerance), nil},
		"one of several signatures": {with(func(h *Headers) { h.Signature = "v1a,AAAA v1,AAAA v1,? " + h.Signature }), `{"a":1}`, known, now, nil},
		"too early":                 {h, `{"a":1}`, known, now.Add(-Tolerance - time.Second), ErrInvalidTimestamp},
		"too late":                  {h, `{"a":1}`, known, now.Add(Tolerance + time.Second), ErrInvalidTimestamp},
		"another body":              {h, `{"a":2}`, known, now, ErrInvalidSignature},
		"another id":                {with(func(h *Headers) { h.ID = "msg_2" }), `{"a":1}`, known, now, ErrInvalidSignature},
		"another time":              {with(func(h *Headers) { h.Timestamp = "1795000001" }), `{"a":1}`, known, now, ErrInvalidSignature},
		"another key":               {h, `{"a":1}`, testKeys(t, "whsec_"+strings.Repeat("QUJD", 8)), now, ErrInvalidSignature},
		"no key":                    {h, `{"a":1}`, nil, now, ErrInvalidKey},
		"an empty key":              {h, `{"a":1}`, []Key{{}}, now, ErrInvalidKey},
		"no signature":              {with(func(h *Headers) { h.Signature = "" }), `{"a":1}`, known, now, ErrInvalidSignature},
		"half a signature":          {with(func(h *Headers) { h.Signature = h.Signature[:23] }), `{"a":1}`, known, now, ErrInvalidSignature},
		"an empty signature":        {with(func(h *Headers) { h.Signature = "v1," }), `{"a":1}`, known, now, ErrInvalidSignature},
		"another scheme":            {with(func(h *Headers) { h.Signature = "v2" + h.Signature[2:] }), `{"a":1}`, known, now, ErrInvalidSignature},
		"no id":                     {with(func(h *Headers) { h.ID = "" }), `{"a":1}`, known, now, ErrInvalidID},
		"a dot moved into the id":   {with(func(h *Headers) { h.ID, h.Timestamp = "msg_1.1795000000", "1795000000" }), `{"a":1}`, known, now, ErrInvalidID},
		"no timestamp":              {with(func(h *Headers) { h.Timestamp = "" }), `{"a":1}`, known, now, ErrInvalidTimestamp},
		"a timestamp with a sign":   {with(func(h *Headers) { h.Timestamp = "+1795000000" }), `{"a":1}`, known, now, ErrInvalidTimestamp},
		"a timestamp below 0":       {with(func(h *Headers) { h.Timestamp = "-9223372036854775808" }), `{"a":1}`, known, now, ErrInvalidTimestamp},
		"the last timestamp":        {with(func(h *Headers) { h.Timestamp = "9223372036854775807" }), `{"a":1}`, known, now, ErrInvalidTimestamp},
	}
	for name, test := range tests {
		if err := Verify(test.keys, test.h, []byte(test.body), test.now); !errors.Is(err, test.want) {
			t.Errorf("%s: %v, want %v", name, err, test.want)
		}
	}
}

func TestSignRefusesInvalidIDsAndKeys(t *testing.T) {
	t.Parallel()
	for id, want := range map[string]error{
		"": ErrInvalidID, "a.b": ErrInvalidID, "a b": ErrInvalidID, "a\r\nb": ErrInvalidID, "ä": ErrInvalidID, strings.Repeat("a", maxIDLength+1): ErrInvalidID, strings.Repeat("a", maxIDLength): nil, "msg_0-Z": nil,
	} {
		if _, err := Sign(testKeys(t, vectorKey), id, time.Unix(1, 0), nil); !errors.Is(err, want) {
			t.Errorf("the id %q: %v, want %v", id, err, want)
		}
	}
	for _, none := range [][]Key{nil, {{}}} {
		if _, err := Sign(none, "a", time.Unix(1, 0), nil); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("signed by %v: %v", none, err)
		}
	}
}

// FuzzVerify checks that Verify accepts only signed messages, whatever the headers are.
func FuzzVerify(f *testing.F) {
	now, known := time.Unix(1_795_000_000, 0), testKeys(f, vectorKey)
	genuine, err := Sign(known, "a", now, []byte("b"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine.ID, genuine.Timestamp, genuine.Signature, "b")
	f.Add("a", "1795000000.b", "v1,", "")
	f.Add("a.1795000000", "1795000000", genuine.Signature+" v1,=", "b")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		err := Verify(known, Headers{id, timestamp, signature}, []byte(body), now)
		signed := id == genuine.ID && timestamp == genuine.Timestamp && body == "b"
		if err == nil && !signed {
			t.Errorf("%q, %q, %q, %q is accepted", id, timestamp, signature, body)
		}
	})
}

func testKeys(t testing.TB, text ...string) []Key {
	t.Helper()
	keys, err := ParseKeys(strings.Join(text, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
