package sink

import (
	"crypto/aes"
	"crypto/cipher"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"maps"
	"slices"
	"strings"
)

// errKey does not quote the key.
var errKey = errors.New("a key is not 32 hexadecimal digits: copy it from the portal as it stands")

const (
	keySize   = 16 // AES-128
	nonceSize = 12
)

// key encrypts with the decoded key, and signs with its text.
type key struct {
	text string
	aead cipher.AEAD
}

func parseKey(text string) (key, error) {
	secret, err := hex.DecodeString(text)
	if err != nil || len(secret) != keySize {
		return key{}, errKey
	}
	block, err := aes.NewCipher(secret)
	if err != nil {
		return key{}, errKey
	}
	aead, err := cipher.NewGCM(block)
	return key{text, aead}, err
}

// seal returns the encrypted body: nonce, ciphertext and tag. It draws a new nonce
// for each call.
func (k key) seal(nonce, plain []byte) []byte {
	sealed := k.aead.Seal(slices.Clone(nonce), nonce, plain, nil)
	return []byte(`{"data":"` + base64.StdEncoding.EncodeToString(sealed) + `"}`)
}

// sign hashes, without separators: the key, the parameters in the order of their
// names, and the bytes of the body as sent. The parameters are the signed headers
// and those of the query.
func (k key) sign(parameters map[string]string, body []byte) string {
	var signed strings.Builder
	signed.WriteString(k.text)
	for _, name := range slices.Sorted(maps.Keys(parameters)) {
		signed.WriteString(name + parameters[name])
	}
	signed.WriteString(string(body))
	sum := sha256.Sum256([]byte(signed.String()))
	return hex.EncodeToString(sum[:])
}
