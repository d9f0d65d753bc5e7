package sink

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"

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
