// Package webhooksink reports behaviours to a webhook: a batch is one message
// by Standard Webhooks 1.0.0, in one of two formats.
package webhooksink

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/webhook/signature"
)

// Format is of a message's body.
type Format string

// The formats.
const (
	// StandardWebhooks is the wire contract's, section 5: an envelope with the
	// behaviours as posted.
	StandardWebhooks Format = "standard-webhooks"
	// CloudEventsBatch is the JSON batch of CloudEvents 1.0, an event a behaviour.
	CloudEventsBatch Format = "cloudevents-batch"
)

// Options say where a game's behaviours go.
type Options struct {
	URL    string
	Format Format // "": StandardWebhooks
	// Keys are asked for with every try, so that they may change meanwhile.
	Keys func() ([]signature.Key, error)
	// Client follows no redirect and guards whom it connects to; an error of its
	// with a method Blocked that is true says that the URL leads where it must not.
	Client *http.Client
}

// Sink is a eventq.Sink.
type Sink struct {
	Options
	encode      func(eventq.Batch) ([]byte, error)
	contentType string
}

// New checks the options. It does not connect.
func New(o Options) (*Sink, error) {
	u, err := url.Parse(o.URL)
	if err != nil || u.Scheme != "http" && u.Scheme != "https" || u.Host == "" {
		return nil, errors.New("the webhook's URL is not of the form https://host/path") // it may hold a secret
	}
	s := &Sink{Options: o}
	switch o.Format {
	case StandardWebhooks, "":
		s.encode, s.contentType = envelope, "application/json"
	case CloudEventsBatch:
		s.encode, s.contentType = cloudEvents, "application/cloudevents-batch+json; charset=UTF-8"
	default:
		return nil, fmt.Errorf("unknown format %q of a webhook", o.Format)
	}
	return s, nil
}

// Check finds no fault: a webhook takes every behaviour.
func (s *Sink) Check(eventq.Behaviour) error { return nil }

// Send posts a batch. The answer's status decides; that of success may refuse
// single items in its body (see single).
func (s *Sink) Send(ctx context.Context, b eventq.Batch) eventq.Outcome {
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

// Close does nothing: the client is its owner's.
func (s *Sink) Close() error { return nil }

// request is signed, or nil with the outcome.
func (s *Sink) request(ctx context.Context, b eventq.Batch) (*http.Request, eventq.Outcome) {
	body, err := s.encode(b)
	if err != nil {
		return nil, eventq.Outcome{Delivery: eventq.Refused, Code: "encoding", Err: err}
	}
	keys, err := s.Keys()
	if err != nil {
		return nil, signingFailed(err)
	}
	stamp, err := signature.Sign(keys, b.ID, time.UnixMilli(b.Now), body)
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
		// Not sent, as it is empty. It lets the client repeat the request where the
		// receiver closed a kept connection at that moment: the id says it is the same.
		"Idempotency-Key": {},
	}
	request.Header.Set(signature.HeaderID, stamp.ID)
	request.Header.Set(signature.HeaderTimestamp, stamp.Timestamp)
	request.Header.Set(signature.HeaderSignature, stamp.Signature)
	return request, eventq.Outcome{}
}

// unsigned is worth another try: a secret file may be about to be put right.
func signingFailed(err error) eventq.Outcome {
	return eventq.Outcome{Delivery: eventq.TryAgain, Code: "keys", Err: fmt.Errorf("sign the batch: %w", err)}
}
