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
	"net/http"
	"slices"
	"strconv"

	"laststand/internal/eventq"
)

var errNoKey = errors.New("there is no key: take one from the portal")

// sendWithKeys sends a plaintext with a key that the far side accepts. It begins with the
// last accepted one. During a change of keys, another order would need one more request per
// attempt, and the far side would ban the sender.
func (s *NPPA) sendWithKeys(ctx context.Context, plain []byte, now int64) answer {
	keys, err := s.Keys()
	if err != nil {
		return failed("keys", fmt.Errorf("get the keys: %w", err))
	}
	last := answer{Outcome: eventq.Outcome{Code: "keys", Delivery: eventq.Forbidden, Err: errNoKey}}
	for range keys {
		tries := s.rejectedKeys.Load()
		k, err := parseKey(keys[tries%uint32(len(keys))])
		if err != nil {
			last.Err = err
		} else if last = s.post(ctx, k, plain, now); !last.tryNextKey {
			break
		}
		s.rejectedKeys.CompareAndSwap(tries, tries+1)
	}
	return last
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
	rand.Read(nonce) // never fails
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
		"sign":         {k.sign("appId"+s.AppID+"bizId"+s.BizID+"timestamps"+instant, body)},
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
	block, _ := aes.NewCipher(secret) // takes keys of this size
	aead, err := cipher.NewGCM(block)
	return key{text, aead}, err
}

// seal returns the encrypted body: nonce, ciphertext and tag. Each call needs a new
// nonce.
func (k key) seal(nonce, plain []byte) []byte {
	sealed := k.aead.Seal(slices.Clone(nonce), nonce, plain, nil)
	return []byte(`{"data":"` + base64.StdEncoding.EncodeToString(sealed) + `"}`)
}

// sign hashes, without separators: the key, the parameters with their names and in the
// order of these, and the bytes of the body as sent. The parameters are the signed headers
// and those of the query.
func (k key) sign(parameters string, body []byte) string {
	sum := sha256.Sum256(append([]byte(k.text+parameters), body...))
	return hex.EncodeToString(sum[:])
}
