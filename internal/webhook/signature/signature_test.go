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
func TestMessagesAreVerifiedWhileKeysChange(t *testing.T) {
	t.Parallel()
	now, body := time.Unix(1_795_000_000, 0), []byte(`{}`)
	oldKeys, newKeys := testKeys(t, vectorKey), testKeys(t, "whsec_"+strings.Repeat("QUJD", 8))
	bothKeys := slices.Concat(oldKeys, newKeys)
	for name, pair := range map[string]struct{ signingKeys, receiverKeys []Key }{
		"the receiver has the old key": {bothKeys, oldKeys}, "the receiver has the new key": {bothKeys, newKeys}, "the sender has the old key": {oldKeys, bothKeys}, "the sender has the new key": {newKeys, bothKeys},
	} {
		headers, err := Sign(pair.signingKeys, "a", now, body)
		if err != nil {
			t.Fatal(err)
		}
		if err := Verify(pair.receiverKeys, headers, body, now); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	headers, _ := Sign(bothKeys, "a", now, body)
	if n := len(strings.Split(headers.Signature, " ")); n != 2 {
		t.Errorf("%d signatures by 2 keys", n)
	}
}

func TestVerifyRefusesForgedAndOldMessages(t *testing.T) {
	t.Parallel()
	now, body, keys := time.Unix(1_795_000_000, 0), []byte(`{"a":1}`), testKeys(t, vectorKey)
	headers, err := Sign(keys, "msg_1", now, body)
	if err != nil {
		t.Fatal(err)
	}
	changeHeaders := func(change func(*Headers)) Headers {
		changed := headers
		change(&changed)
		return changed
	}
	tests := map[string]struct {
		headers Headers
		body    string
		keys    []Key
		now     time.Time
		want    error
	}{
		"a valid message":           {headers, `{"a":1}`, keys, now, nil},
		"as early as allowed":       {headers, `{"a":1}`, keys, now.Add(-Tolerance), nil},
		"as late as allowed":        {headers, `{"a":1}`, keys, now.Add(Tolerance), nil},
		"one of several signatures": {changeHeaders(func(headers *Headers) { headers.Signature = "v1a,AAAA v1,AAAA v1,? " + headers.Signature }), `{"a":1}`, keys, now, nil},
		"too early":                 {headers, `{"a":1}`, keys, now.Add(-Tolerance - time.Second), ErrInvalidTimestamp},
		"too late":                  {headers, `{"a":1}`, keys, now.Add(Tolerance + time.Second), ErrInvalidTimestamp},
		"another body":              {headers, `{"a":2}`, keys, now, ErrInvalidSignature},
		"another id":                {changeHeaders(func(headers *Headers) { headers.ID = "msg_2" }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"another time":              {changeHeaders(func(headers *Headers) { headers.Timestamp = "1795000001" }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"another key":               {headers, `{"a":1}`, testKeys(t, "whsec_"+strings.Repeat("QUJD", 8)), now, ErrInvalidSignature},
		"no key":                    {headers, `{"a":1}`, nil, now, ErrInvalidKey},
		"an empty key":              {headers, `{"a":1}`, []Key{{}}, now, ErrInvalidKey},
		"no signature":              {changeHeaders(func(headers *Headers) { headers.Signature = "" }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"half a signature":          {changeHeaders(func(headers *Headers) { headers.Signature = headers.Signature[:23] }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"an empty signature":        {changeHeaders(func(headers *Headers) { headers.Signature = "v1," }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"another scheme":            {changeHeaders(func(headers *Headers) { headers.Signature = "v2" + headers.Signature[2:] }), `{"a":1}`, keys, now, ErrInvalidSignature},
		"no id":                     {changeHeaders(func(headers *Headers) { headers.ID = "" }), `{"a":1}`, keys, now, ErrInvalidID},
		"a dot moved into the id":   {changeHeaders(func(headers *Headers) { headers.ID, headers.Timestamp = "msg_1.1795000000", "1795000000" }), `{"a":1}`, keys, now, ErrInvalidID},
		"no timestamp":              {changeHeaders(func(headers *Headers) { headers.Timestamp = "" }), `{"a":1}`, keys, now, ErrInvalidTimestamp},
		"a timestamp with a sign":   {changeHeaders(func(headers *Headers) { headers.Timestamp = "+1795000000" }), `{"a":1}`, keys, now, ErrInvalidTimestamp},
		"a timestamp below 0":       {changeHeaders(func(headers *Headers) { headers.Timestamp = "-9223372036854775808" }), `{"a":1}`, keys, now, ErrInvalidTimestamp},
		"the last timestamp":        {changeHeaders(func(headers *Headers) { headers.Timestamp = "9223372036854775807" }), `{"a":1}`, keys, now, ErrInvalidTimestamp},
	}
	for name, test := range tests {
		if err := Verify(test.keys, test.headers, []byte(test.body), test.now); !errors.Is(err, test.want) {
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
	for _, invalidKeys := range [][]Key{nil, {{}}} {
		if _, err := Sign(invalidKeys, "a", time.Unix(1, 0), nil); !errors.Is(err, ErrInvalidKey) {
			t.Errorf("signed by %v: %v", invalidKeys, err)
		}
	}
}

// FuzzVerify checks that Verify accepts only signed messages, whatever the headers are.
func FuzzVerify(f *testing.F) {
	now, keys := time.Unix(1_795_000_000, 0), testKeys(f, vectorKey)
	genuine, err := Sign(keys, "a", now, []byte("b"))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(genuine.ID, genuine.Timestamp, genuine.Signature, "b")
	f.Add("a", "1795000000.b", "v1,", "")
	f.Add("a.1795000000", "1795000000", genuine.Signature+" v1,=", "b")
	f.Fuzz(func(t *testing.T, id, timestamp, signature, body string) {
		err := Verify(keys, Headers{id, timestamp, signature}, []byte(body), now)
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
