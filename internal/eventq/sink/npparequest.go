package sink

import (
	"bytes"
	"context"
	"crypto/aes"
	"crypto/cipher"
	"crypto/rand"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"laststand/internal/eventq"
)

var errNoKey = errors.New("there is no key: take one from the portal")

// sendWithKeys sends a plaintext with the first key that the far side accepts.
func (s *NPPA) sendWithKeys(ctx context.Context, plain []byte, now int64) answer {
	keys, err := s.Keys()
	if err != nil {
		return failed("keys", fmt.Errorf("get the keys: %w", err))
	}
	last := answer{Outcome: eventq.Outcome{Code: "keys", Delivery: eventq.Forbidden, Err: errNoKey}}
	for _, text := range s.orderKeys(keys) {
		k, err := parseKey(text)
		if err != nil {
			last.Err = err
			continue
		}
		last = s.post(ctx, k, plain, now)
		if !last.tryNextKey {
			s.lastGoodKey.Store(&text)
			break
		}
	}
	return last
}

// orderKeys puts the last accepted key first. During a change of keys, the other
// order would need one more request per attempt, and the far side would ban the
// sender.
func (s *NPPA) orderKeys(keys []string) []string {
	good := s.lastGoodKey.Load()
	if good == nil || !slices.Contains(keys, *good) {
		return keys
	}
	others := slices.DeleteFunc(slices.Clone(keys), func(k string) bool { return k == *good })
	return slices.Insert(others, 0, *good)
}

func (s *NPPA) post(ctx context.Context, k key, plain []byte, now int64) answer {
	request, err := s.request(ctx, k, plain, now)
	if err != nil {
		return failed("unsent", err)
	}
	response, err := s.HTTP.Do(request)
	if err != nil {
		return answer{Outcome: outcomeOfError(err)}
	}
	defer response.Body.Close()
	if response.StatusCode/100 != 2 {
		code := fmt.Sprintf("http %d", response.StatusCode)
		return failed(code, errors.New("the NPPA answers "+code))
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, maxReply))
	if err != nil {
		return answer{Outcome: outcomeOfError(err)}
	}
	return parseAnswer(body)
}

// request returns a request that is signed for one instant. It is valid for 5 s
// from then.
func (s *NPPA) request(ctx context.Context, k key, plain []byte, now int64) (*http.Request, error) {
	nonce := make([]byte, nonceSize)
	if _, err := rand.Read(nonce); err != nil {
		return nil, err
	}
	body := k.seal(nonce, plain)
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.endpoint, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	instant := strconv.FormatInt(now, 10)
	// The header names must be spelled exactly as specified; Set would change
	// them.
	request.Header = http.Header{
		"Content-Type": {"application/json; charset=utf-8"},
		"appId":        {s.AppID},
		"bizId":        {s.BizID},
		"timestamps":   {instant},
		"sign":         {k.sign(map[string]string{"appId": s.AppID, "bizId": s.BizID, "timestamps": instant}, body)},
	}
	return request, nil
}

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

// seal returns the encrypted body: nonce, ciphertext and tag. Each call needs a new
// nonce.
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
