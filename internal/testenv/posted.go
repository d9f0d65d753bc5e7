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

// Posted is a request that a webhook receiver got.
type Posted struct {
	Method string
	Header http.Header
	Body   []byte
}

// ReadPosted reads the whole request.
func ReadPosted(r *http.Request) (Posted, error) {
	body, err := io.ReadAll(r.Body)
	return Posted{r.Method, r.Header.Clone(), body}, err
}

// Headers returns the headers that Standard Webhooks defines.
func (p Posted) Headers() signature.Headers {
	return signature.Headers{
		ID: p.Header.Get(signature.HeaderID), Timestamp: p.Header.Get(signature.HeaderTimestamp), Signature: p.Header.Get(signature.HeaderSignature),
	}
}

// Verify checks the signature and that the request was signed at about a time. keys has one
// key per line. It returns an error if none of them has signed the request.
func (p Posted) Verify(keys string, at time.Time) error {
	known, err := signature.ParseKeys(keys)
	if err != nil {
		return err
	}
	return signature.Verify(known, p.Headers(), p.Body, at)
}

// Receiver gives the same answer to every request and records the requests.
type Receiver struct {
	URL string

	mu     sync.Mutex
	posted []Posted
}

// Receive starts a receiver for a test. It answers with this status, body and these
// headers: a name, its value, the next name, and so on.
func Receive(t testing.TB, status int, answer string, headers ...string) *Receiver {
	t.Helper()
	r := new(Receiver)
	r.URL = Serve(t, func(w http.ResponseWriter, q *http.Request) {
		p, err := ReadPosted(q)
		if err != nil {
			return
		}
		r.mu.Lock()
		r.posted = append(r.posted, p)
		r.mu.Unlock()
		for pair := range slices.Chunk(headers, 2) {
			w.Header().Set(pair[0], pair[1])
		}
		w.WriteHeader(status)
		_, _ = io.WriteString(w, answer)
	})
	return r
}

// Posted returns all requests so far.
func (r *Receiver) Posted() []Posted {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.posted)
}
