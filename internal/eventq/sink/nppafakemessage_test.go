package sink

import (
	"bytes"
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"net/http"
	"sort"
)

var errInvalidMessage = errors.New("the message is not in order")

// signingKey returns the valid key that a request is signed with.
func (f *fakeNPPA) signingKey(r *http.Request, body []byte) (key string, signed bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, key := range f.keys {
		if r.Header.Get("sign") == signature(key, r, body) { // a fake has no secrets to protect
			return key, true
		}
	}
	return "", false
}

// signature implements section 5 of the specification. It signs the key as text, then each
// relevant header and query parameter as name and value, sorted, and the body.
func signature(key string, r *http.Request, body []byte) string {
	var pairs []string
	for _, name := range []string{"appId", "bizId", "timestamps"} {
		pairs = append(pairs, name+r.Header.Get(name))
	}
	for name, values := range r.URL.Query() {
		pairs = append(pairs, name+values[0])
	}
	sort.Strings(pairs)
	hash := sha256.New()
	hash.Write([]byte(key))
	for _, pair := range pairs {
		hash.Write([]byte(pair))
	}
	hash.Write(body)
	return hex.EncodeToString(hash.Sum(nil))
}

// openMessage implements section 4: {"data": Base64 of nonce, ciphertext and tag}.
func openMessage(key string, body []byte) ([]fakeRecord, error) {
	var envelope struct {
		Data string `json:"data"`
	}
	if err := decodeStrict(body, &envelope); err != nil {
		return nil, err
	}
	plain, err := decrypt(key, envelope.Data)
	if err != nil {
		return nil, err
	}
	var message struct {
		Collections []fakeRecord `json:"collections"`
	}
	if err := decodeStrict(plain, &message); err != nil {
		return nil, err
	}
	for _, r := range message.Collections {
		if len(r.SI) != 32 {
			return nil, errInvalidMessage
		}
	}
	return message.Collections, nil
}

func decrypt(key, data string) ([]byte, error) {
	secret, err := hex.DecodeString(key)
	if err != nil {
		return nil, err
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return nil, err
	}
	gcm, err := cipher.NewGCM(block)
	if err != nil {
		return nil, err
	}
	sealed, err := base64.StdEncoding.Strict().DecodeString(data)
	if err != nil || len(sealed) < gcm.NonceSize() {
		return nil, errInvalidMessage
	}
	return gcm.Open(nil, sealed[:gcm.NonceSize()], sealed[gcm.NonceSize():], nil)
}

// decodeStrict decodes JSON and refuses fields that the specification does not have.
func decodeStrict(text []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.DisallowUnknownFields()
	return d.Decode(into)
}
