package httpposter

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
	"time"

	"laststand/internal/webhook"
)

var _ webhook.Poster = (*Poster)(nil)

// Target is how to reach an endpoint: its URL, keys and HTTP client.
type Target struct {
	Game, Name string // of the endpoint
	URL        string
	// Keys returns the signing keys. It is called before each attempt, so the keys may
	// change at any time.
	Keys   func() ([]webhook.Key, error)
	Client *http.Client // by NewClient
}

// Poster posts messages to endpoints over HTTP. Its errors contain only the host of a
// URL, and never a key or the body of a reply. It is safe for concurrent use.
type Poster struct {
	targets map[endpointKey]Target
	hosts   map[endpointKey]string
}

type endpointKey struct{ game, name string }

const (
	attemptTimeout = 15 * time.Second // Standard Webhooks gives a receiver 15 to 30 s
	maxReplyBytes  = 64 << 10         // bytes of a reply that are read, so that the connection can be reused
)

// New returns a poster, or an error if the URL of a target is invalid. It does not
// connect.
func New(targets []Target) (*Poster, error) {
	poster := &Poster{targets: map[endpointKey]Target{}, hosts: map[endpointKey]string{}}
	for _, target := range targets {
		parsed, err := url.Parse(target.URL)
		if err != nil || parsed.Scheme != "http" && parsed.Scheme != "https" || parsed.Host == "" {
			return nil, fmt.Errorf("webhook %q of game %q: its URL is not of the form http://host/path or https://host/path", target.Name, target.Game) // without the URL, which may contain a secret
		}
		key := endpointKey{target.Game, target.Name}
		poster.targets[key], poster.hosts[key] = target, parsed.Scheme+"://"+parsed.Host
	}
	return poster, nil
}

// Host returns the scheme and host of an endpoint's URL.
func (p *Poster) Host(endpoint webhook.Endpoint) string {
	return p.hosts[endpointKey{endpoint.Game, endpoint.Name}]
}

// Post makes one attempt to send a message, of at most attemptTimeout.
func (p *Poster) Post(ctx context.Context, endpoint webhook.Endpoint, message webhook.Message) webhook.Reply {
	ctx, cancel := context.WithTimeout(ctx, attemptTimeout)
	defer cancel()
	target, ok := p.targets[endpointKey{endpoint.Game, endpoint.Name}]
	if !ok {
		return webhook.Reply{Err: errors.New("no URL is known for the endpoint")}
	}
	request, err := target.newRequest(ctx, message)
	if err != nil {
		return webhook.Reply{Err: err}
	}
	response, err := target.Client.Do(request)
	if err != nil {
		return webhook.Reply{Err: describeError(err)}
	}
	defer response.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(response.Body, maxReplyBytes)) // the status says enough
	return newReply(response)
}

// newRequest returns the signed HTTP request for a message.
func (t *Target) newRequest(ctx context.Context, message webhook.Message) (*http.Request, error) {
	keys, err := t.Keys()
	if err != nil {
		return nil, fmt.Errorf("sign the message: %w", err)
	}
	headers, err := webhook.Sign(keys, message.ID, time.Now(), message.Body)
	if err != nil {
		return nil, fmt.Errorf("sign the message: %w", err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, t.URL, bytes.NewReader(message.Body))
	if err != nil {
		return nil, errors.New("the endpoint's URL makes no request")
	}
	request.Header = http.Header{
		"Content-Type": {"application/json"},
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
		RetryAfter: webhook.ParseRetryAfter(response.Header.Get("Retry-After"), time.Now()),
		Err:        errors.New("the endpoint answered " + text),
	}
}

// The errors of an attempt without a reply. The message may have arrived all the
// same. Then the endpoint recognizes the retry by the id of the message.
var (
	errTimeout   = errors.New("the endpoint did not answer in time")
	errBrokenOff = errors.New("the exchange with the endpoint broke off")
)

// describeError returns an error that operators may see: without the URL, which may
// contain a secret, and without the data that was read.
func describeError(err error) error {
	if wrapped, ok := errors.AsType[*url.Error](err); ok {
		err = wrapped.Err
	}
	if blocked, ok := errors.AsType[*BlockedError](err); ok {
		return blocked
	}
	switch netErr, ok := errors.AsType[net.Error](err); {
	case errors.Is(err, context.Canceled), hasType[*net.DNSError](err):
		return err
	case ok && netErr.Timeout():
		return errTimeout
	case isDialError(err), isTLSError(err):
		return err
	}
	return errBrokenOff
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
