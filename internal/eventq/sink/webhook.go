package sink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/webhook"
)

// Format is the format of a message's body.
type Format string

// These are the formats.
const (
	// StandardWebhooks is the format of section 5 of the wire contract: an
	// envelope with the behaviours as posted.
	StandardWebhooks Format = "standard-webhooks"
	// CloudEventsBatch is the JSON batch of CloudEvents 1.0, with one event per
	// behaviour.
	CloudEventsBatch Format = "cloudevents-batch"
)

// WebhookOptions say where the behaviours of a game go.
type WebhookOptions struct {
	URL    string
	Format Format // "": StandardWebhooks
	// Keys is called before every attempt, so the keys may change at any time.
	Keys func() ([]webhook.Key, error)
	// Client must not follow redirects, and must check the addresses that it
	// connects to. If an error has a method Blocked that returns true, the URL
	// leads to a forbidden address.
	Client *http.Client
}

// Webhook implements eventq.Sink.
type Webhook struct {
	WebhookOptions
	encode      func(eventq.Batch) ([]byte, error)
	contentType string
}

// NewWebhook checks the options. It does not connect.
func NewWebhook(o WebhookOptions) (*Webhook, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the webhook's URL is not of the form https://host/path") // it may hold a secret
	}
	s := &Webhook{WebhookOptions: o}
	switch o.Format {
	case StandardWebhooks, "":
		s.encode, s.contentType = standardWebhook, "application/json"
	case CloudEventsBatch:
		s.encode, s.contentType = cloudEvents, "application/cloudevents-batch+json; charset=UTF-8"
	default:
		return nil, fmt.Errorf("unknown format %q of a webhook", o.Format)
	}
	return s, nil
}

// Check returns nil: a webhook accepts every behaviour.
func (s *Webhook) Check(eventq.Behaviour) error { return nil }

// Send posts a batch. The status of the answer decides. If it is a success, the
// body may still refuse single items (see applyItemErrors).
func (s *Webhook) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	request, outcome := s.request(ctx, b)
	if request == nil {
		return outcome
	}
	reply, err := s.Client.Do(request)
	if err != nil {
		return outcomeOfError(err)
	}
	defer reply.Body.Close()
	return readAnswer(reply, b)
}

// Close does nothing: the client belongs to the caller.
func (s *Webhook) Close() error { return nil }

// request returns a signed request, or nil with the outcome.
func (s *Webhook) request(ctx context.Context, b eventq.Batch) (*http.Request, eventq.Outcome) {
	body, err := s.encode(b)
	if err != nil {
		return nil, eventq.Outcome{Delivery: eventq.Refused, Code: "encoding", Err: err}
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, signingFailed(err)
	}
	headers, err := webhook.Sign(keys, b.ID, time.UnixMilli(b.Now), body)
	if err != nil {
		return nil, signingFailed(err)
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, s.URL, bytes.NewReader(body))
	if err != nil {
		return nil, signingFailed(errors.New("the webhook's URL makes no request"))
	}
	request.Header = http.Header{
		"Content-Type": {s.contentType},
		"User-Agent":   {"laststand"},
		// This header is not sent, because it is empty. It lets the client repeat
		// the request if the receiver closes a kept connection at that moment. The
		// message id shows that it is the same.
		"Idempotency-Key": {},
	}
	for name, value := range headers {
		request.Header.Set(name, value)
	}
	return request, eventq.Outcome{}
}

// signingFailed allows another attempt: an operator may be about to correct the
// secret file.
func signingFailed(err error) eventq.Outcome {
	return eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: fmt.Errorf("sign the batch: %w", err)}
}
