package httpserver

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"laststand/internal/webhook"
)

var _ webhook.Poster = (*Poster)(nil)

// Poster posts messages to endpoints over HTTP. Its errors contain only the host of a
// URL, and never a key or the body of a reply, because operators see them. It is safe for
// concurrent use.
type Poster struct {
	// Keys returns the signing keys of an endpoint. It is called before each attempt, so the
	// keys may change at any time.
	Keys func(endpoint webhook.Endpoint) ([]webhook.Key, error)
	// Clients are made by NewClient. Endpoints with AllowPrivate use Clients[true].
	Clients map[bool]*http.Client
}

const (
	attemptTimeout = 15 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	maxReplyBytes  = 64 << 10         // bytes of a reply that are read, so that the connection can be reused
)

// Post makes one attempt to send a message, of at most attemptTimeout.
func (p *Poster) Post(ctx context.Context, endpoint webhook.Endpoint, message webhook.Message) webhook.Reply {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	keys, err := p.Keys(endpoint)
	var request *http.Request
	if err == nil {
		request, err = SignedPost{URL: endpoint.URL, ContentType: jsonType, Message: message, Keys: keys, At: time.Now()}.NewRequest(ctx)
	}
	if err != nil {
		return webhook.Reply{Err: fmt.Errorf("sign the message: %w", err)}
	}
	response, err := p.Clients[endpoint.AllowPrivate].Do(request)
	if err != nil {
		_, public := ExchangeError(err)
		return webhook.Reply{Err: public}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxReplyBytes)) // the status says enough
	return newReply(response)
}

// SignedPost is a message to post to a URL, signed with all keys.
type SignedPost struct {
	URL, ContentType string
	Message          webhook.Message
	Keys             []webhook.Key
	At               time.Time // of the signature
}

// NewRequest returns the request. Its errors contain no part of the URL, which may contain a secret.
func (p SignedPost) NewRequest(ctx context.Context) (*http.Request, error) {
	headers, err := webhook.Sign(p.Keys, p.Message.ID, p.At, p.Message.Body)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, p.URL, bytes.NewReader(p.Message.Body))
	if err != nil {
		return nil, errors.New("the endpoint's URL makes no request")
	}
	request.Header = http.Header{
		"Content-Type": {p.ContentType},
		"User-Agent":   {"laststand"},
		// This header is not sent, because it has no value. It lets the client repeat
		// the request if the receiver closes an idle connection at that moment. The
		// receiver recognizes the repeated request by the message id.
		"Idempotency-Key": {},
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return request, nil
}

// newReply converts a response. Only a status 2xx means that the endpoint accepted the
// message; a redirect is an error.
func newReply(response *http.Response) webhook.Reply {
	status := response.StatusCode
	if status/100 == 2 {
		return webhook.Reply{Status: status}
	}
	text := strconv.Itoa(status)
	if statusText := http.StatusText(status); statusText != "" {
		text += " " + statusText
	}
	return webhook.Reply{
		Status:     status,
		RetryAfter: ParseRetryAfter(response.Header.Get("Retry-After"), time.Now()),
		Err:        errors.New("the endpoint answered " + text),
	}
}

// ExchangeBlocked is the reason of ExchangeError if the address is not public.
const ExchangeBlocked = "blocked"

var (
	errTimeout   = errors.New("the endpoint did not answer in time")
	errBrokenOff = errors.New("the exchange with the endpoint broke off")
)

// ExchangeError returns why a request got no reply: a reason from a closed set, and an error that
// operators may see. The error has no URL, which may contain a secret, and no data that was read.
// The message may have arrived all the same. Then the endpoint recognizes the retry by the id of
// the message.
func ExchangeError(err error) (reason string, public error) {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	blocked, isBlocked := errors.AsType[*BlockedError](err)
	netErr, isNetErr := errors.AsType[net.Error](err)
	switch {
	case isBlocked:
		return ExchangeBlocked, blocked
	case errors.Is(err, context.Canceled):
		return "canceled", err
	case hasType[*net.DNSError](err):
		return "dns", err
	case isNetErr && netErr.Timeout():
		return "timeout", errTimeout
	case isDialError(err):
		return "dial", err
	case isTLSError(err):
		return "tls", err
	}
	return "transport", errBrokenOff
}

func isDialError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && operation.Op == "dial"
}

// isTLSError returns true if TLS failed. A TLS alert is a net.OpError too.
func isTLSError(err error) bool {
	operation, ok := errors.AsType[*net.OpError](err)
	return ok && (operation.Op == "remote error" || operation.Op == "local error") ||
		hasType[*tls.CertificateVerificationError](err) || hasType[tls.RecordHeaderError](err) || errors.Is(err, http.ErrSchemeMismatch)
}

func hasType[E error](err error) bool {
	_, ok := errors.AsType[E](err)
	return ok
}

const (
	minRetry = time.Second
	maxRetry = time.Hour
)

// ParseRetryAfter parses the header Retry-After: seconds or an HTTP date (RFC 9110,
// 10.2.3). It returns the pause that the receiver asks for, at least 1 s and at most
// 1 h. It returns 0 if the header is absent or invalid.
func ParseRetryAfter(header string, now time.Time) time.Duration {
	header = strings.TrimSpace(header)
	if header != "" && strings.Trim(header, "0123456789") == "" {
		seconds, err := strconv.Atoi(header)
		if err != nil || seconds > int(maxRetry/time.Second) {
			return maxRetry
		}
		return max(minRetry, time.Duration(seconds)*time.Second)
	}
	retryTime, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return min(max(minRetry, retryTime.Sub(now)), maxRetry)
}
