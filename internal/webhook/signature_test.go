package webhook

import (
	"errors"
	"maps"
	"strings"
	"testing"
	"time"
)

const vectorKey = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"

// This is the test vector of the libraries of the specification. Tests of receivers verify
// signatures by one of these libraries: see testenv.ReceivedRequest.
func TestSignEqualsTheTestVector(t *testing.T) {
	t.Parallel()
	got, err := Sign(testKeys(t, vectorKey), "msg_p5jXN8AQM9LWM0D4loKWxJek", time.Unix(1614265330, 0), []byte(`{"test": 2432232314}`))
	want := map[string]string{"webhook-id": "msg_p5jXN8AQM9LWM0D4loKWxJek", "webhook-timestamp": "1614265330", "webhook-signature": "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="}
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("Sign = %v, %v, want %v", got, err, want)
	}
}

// A message that is signed with two keys has the signatures of both.
func TestSignUsesAllKeys(t *testing.T) {
	t.Parallel()
	signaturesBy := func(keys ...string) string {
		headers, err := Sign(testKeys(t, keys...), "a", time.Unix(1, 0), []byte("{}"))
		if err != nil {
			t.Fatal(err)
		}
		return headers[HeaderSignature]
	}
	other := "whsec_" + strings.Repeat("QUJD", 8)
	if got, want := signaturesBy(vectorKey, other), signaturesBy(vectorKey)+" "+signaturesBy(other); got != want {
		t.Errorf("signatures %q, want %q", got, want)
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

func testKeys(t testing.TB, text ...string) []Key {
	t.Helper()
	keys, err := ParseKeys(strings.Join(text, "\n"))
	if err != nil {
		t.Fatal(err)
	}
	return keys
}
