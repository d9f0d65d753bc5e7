package testenv

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"testing"
	"time"

	"laststand/internal/webhook/signature"
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

// Headers returns the headers that Standard Webhooks defines.
func (p ReceivedRequest) Headers() signature.Headers {
	return signature.Headers{
		ID: p.Header.Get(signature.HeaderID), Timestamp: p.Header.Get(signature.HeaderTimestamp), Signature: p.Header.Get(signature.HeaderSignature),
	}
}

// Verify checks the signature and that the request was signed at about a time. keys has one
// key per line. It returns an error if none of them has signed the request.
func (p ReceivedRequest) Verify(keys string, at time.Time) error {
	known, err := signature.ParseKeys(keys)
	if err != nil {
		return err
	}
	return signature.Verify(known, p.Headers(), p.Body, at)
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
