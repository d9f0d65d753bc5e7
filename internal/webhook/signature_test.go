package webhook

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"laststand/internal/testenv"
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
		headers := testenv.Need(Sign(testKeys(t, keys...), "a", time.Unix(1, 0), []byte("{}")))(t)
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
	keys := testenv.Need(ParseKeys(strings.Join(text, "\n")))(t)
	return keys
}

func TestParseKeyRefusesInvalidKeys(t *testing.T) {
	t.Parallel()
	keyOfLength := func(n int) string { return keyPrefix + base64.StdEncoding.EncodeToString(make([]byte, n)) }
	tests := map[string]string{
		vectorKey: "", keyOfLength(24): "", keyOfLength(25): "", keyOfLength(64): "",
		keyOfLength(23): "23 bytes", keyOfLength(65): "65 bytes", keyPrefix: "0 bytes",
		"":                                      "does not begin with whsec_",
		"MfKQ9r8GKYqrTwjUPD8ILP":                "does not begin with whsec_",
		"whsk_" + strings.Repeat("QUJD", 8):     "does not begin with whsec_",
		vectorKey + "!":                         "is not Base64",
		strings.TrimRight(keyOfLength(25), "="): "is not Base64",
	}
	for text, want := range tests {
		_, err := ParseKey(text)
		if want == "" && err == nil {
			continue
		}
		if want == "" || !errors.Is(err, ErrInvalidKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestParseKeysReadsSeveralKeys(t *testing.T) {
	t.Parallel()
	if got := testKeys(t, " "+vectorKey+"\r", vectorKey, ""); len(got) != 2 {
		t.Errorf("%d keys were read, want 2", len(got))
	}
	for text, want := range map[string]string{"\n": "there is none", vectorKey + "\nwhsec_x": "key 2: "} {
		if _, err := ParseKeys(text); !errors.Is(err, ErrInvalidKey) || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
}

func TestFormattedKeysDoNotShowTheSecret(t *testing.T) {
	t.Parallel()
	keys := testKeys(t, "whsec_"+strings.Repeat("QUJD", 8)) // the secret is ABC repeated
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		for _, value := range []any{keys[0], &keys[0], keys} {
			shown := fmt.Sprintf(verb, value)
			for _, secret := range []string{"ABC", "QUJD", "414243", "65 66", "0x41"} {
				if strings.Contains(shown, secret) {
					t.Errorf("%s shows %s", verb, shown)
				}
			}
		}
	}
	if text, err := json.Marshal(keys); err != nil || string(text) != "[{}]" {
		t.Errorf("JSON shows %s, %v", text, err)
	}
	if _, err := ParseKey("whsec_secret"); strings.Contains(err.Error(), "secret") {
		t.Errorf("the error shows the secret: %v", err)
	}
}

// FuzzParseKey checks that ParseKey accepts only keys of 24 to 64 bytes, and that all its errors are
// ErrInvalidKey.
func FuzzParseKey(f *testing.F) {
	f.Add(vectorKey)
	f.Add("whsec_=")
	f.Add("whsec_\n" + strings.Repeat("QUJD", 8))
	f.Fuzz(func(t *testing.T, text string) {
		key, err := ParseKey(text)
		if err != nil {
			if !errors.Is(err, ErrInvalidKey) {
				t.Errorf("%q: %v", text, err)
			}
			return
		}
		if n := len(key.secret); n < 24 || n > 64 {
			t.Errorf("%q has %d bytes", text, n)
		}
	})
}
