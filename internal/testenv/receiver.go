package testenv

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// ReceivedRequest is a request that a webhook receiver got.
type ReceivedRequest struct {
	Method string
	Header http.Header
	Body   []byte
}

// ReadRequest reads the whole request.
func ReadRequest(r *http.Request) (ReceivedRequest, error) {
	body, err := io.ReadAll(r.Body)
	return ReceivedRequest{r.Method, r.Header.Clone(), body}, err
}

// ID returns the id of the message.
func (p ReceivedRequest) ID() string { return p.Header.Get(standardwebhooks.HeaderWebhookID) }

// signatureTolerance is how much the time of a signature may differ, by Standard Webhooks.
const signatureTolerance = 5 * time.Minute

// Verify checks by the library of Standard Webhooks that one of the keys, which are
// separated by white space, has signed the request at about a time.
func (p ReceivedRequest) Verify(keys string, at time.Time) error {
	seconds, err := strconv.ParseInt(p.Header.Get(standardwebhooks.HeaderWebhookTimestamp), 10, 64)
	if err != nil {
		return fmt.Errorf("timestamp: %w", err)
	}
	if difference := at.Sub(time.Unix(seconds, 0)).Abs(); difference > signatureTolerance {
		return fmt.Errorf("the timestamp differs by %s", difference)
	}
	err = errors.New("no key")
	for key := range strings.FieldsSeq(keys) {
		webhook, keyErr := standardwebhooks.NewWebhook(key)
		if keyErr != nil {
			return keyErr
		}
		if err = webhook.VerifyIgnoringTimestamp(p.Body, p.Header); err == nil {
			return nil
		}
	}
	return err
}

// Receiver gives the same answer to every request and records the requests.
type Receiver struct {
	URL string

	mu       sync.Mutex
	requests []ReceivedRequest
}

// StartReceiver starts a receiver for a test. It answers with this status, body and these
// headers: a name, its value, the next name, and so on.
func StartReceiver(t testing.TB, status int, answer string, headers ...string) *Receiver {
	t.Helper()
	r := new(Receiver)
	r.URL = Serve(t, func(w http.ResponseWriter, q *http.Request) {
		received, err := ReadRequest(q)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.requests = append(r.requests, received)
		r.mu.Unlock()
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	return r
}

// Requests returns all requests so far.
func (r *Receiver) Requests() []ReceivedRequest {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.requests)
}
