package sink

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/httpserver"
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
	// connects to.
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
	s := &Webhook{WebhookOptions: o}
	switch o.Format {
	case StandardWebhooks, "":
		s.encode, s.contentType = standardWebhook, "application/json"
	case CloudEventsBatch:
		s.encode, s.contentType = cloudEvents, "application/cloudevents-batch+json; charset=UTF-8"
	default:
		return nil, fmt.Errorf("unknown format %q of a webhook", o.Format)
	}
	return s, checkURL(o.URL)
}

// checkURL does not quote the URL, which may hold a secret.
func checkURL(text string) error {
	if u, err := url.Parse(text); err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return errors.New("the sink's URL is not of the form https://host/path")
	}
	return nil
}

// Check returns nil: a webhook accepts every behaviour.
func (s *Webhook) Check(eventq.Behaviour) error { return nil }

// Send posts a batch. The status of the answer decides. If it is a success, the
// body may still refuse single items (see applyItemErrors).
func (s *Webhook) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
	body, err := s.encode(b)
	if err != nil {
		return eventq.Outcome{Delivery: eventq.Refused, Code: "encoding", Err: err}
	}
	keys, err := s.Keys()
	var request *http.Request
	if err == nil {
		request, err = httpserver.SignedPost{
			URL: s.URL, ContentType: s.contentType, Message: webhook.Message{ID: b.ID, Body: body}, Keys: keys, At: time.UnixMilli(b.Now),
		}.NewRequest(ctx)
	}
	if err != nil { // worth another attempt: an operator may be about to correct the secret file
		return eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: fmt.Errorf("sign the batch: %w", err)}
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

// outcomeOfError is the outcome of an attempt without an answer. The batch may have arrived.
func outcomeOfError(err error) eventq.Outcome {
	outcome := eventq.Outcome{Delivery: eventq.TryAgain}
	if outcome.Code, outcome.Err = httpserver.ExchangeError(err); outcome.Code == httpserver.ExchangeBlocked {
		outcome.Delivery = eventq.Forbidden
	}
	return outcome
}
