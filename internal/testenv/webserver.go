package testenv

import (
	"context"
	"crypto/tls"
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Serve serves a handler for a test and returns its URL. The server closes all
// client connections when the test ends.
func Serve(t testing.TB, handler http.HandlerFunc) (url string) {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(func() {
		server.CloseClientConnections()
		server.Close()
	})
	return server.URL
}

// ServeUntrustedTLS serves TLS with a certificate that no client trusts, and returns its URL.
// Its handler answers every request with 404.
func ServeUntrustedTLS(t testing.TB, config *tls.Config) (url string) {
	t.Helper()
	server := httptest.NewUnstartedServer(http.NotFoundHandler())
	server.Config.ErrorLog = log.New(io.Discard, "", 0)
	server.TLS = config
	server.StartTLS()
	t.Cleanup(server.Close)
	return server.URL
}

// RefusingURL returns a URL that refuses connections until the test ends: its port has a
// socket that does not listen, so that no server can take it.
func RefusingURL(t testing.TB) (url string) {
	t.Helper()
	socket := Need(syscall.Socket(syscall.AF_INET, syscall.SOCK_STREAM, 0))(t)
	t.Cleanup(func() { _ = syscall.Close(socket) })
	NoError(t, syscall.Bind(socket, &syscall.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}))
	bound := Need(syscall.Getsockname(socket))(t).(*syscall.SockaddrInet4)
	return fmt.Sprint("http://127.0.0.1:", bound.Port)
}

// FailingResolver is a DNS resolver that fails for every name.
var FailingResolver = &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
	ours, theirs := net.Pipe()
	_ = theirs.Close()
	return ours, nil
}}

// NeverRespond is a handler that sends no response until the client closes the connection.
func NeverRespond(_ http.ResponseWriter, r *http.Request) {
	_, _ = io.Copy(io.Discard, r.Body)
	<-r.Context().Done()
}

// CloseConnection is a handler that closes the connection without a response.
func CloseConnection(w http.ResponseWriter, _ *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_ = connection.Close()
	}
}

// RespondInvalid is a handler that sends the URL of the request instead of a valid HTTP response.
func RespondInvalid(w http.ResponseWriter, r *http.Request) {
	connection, _, err := w.(http.Hijacker).Hijack()
	if err == nil {
		_, _ = io.WriteString(connection, r.URL.String()+"\r\n\r\n")
		_ = connection.Close()
	}
}

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

// WebhookKeyPrefix begins each key of a webhook.
const WebhookKeyPrefix = "whsec_"

// Keys of receivers of behaviours, as key files have them.
var (
	OldWebhookKey = WebhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("o", 24)))
	NewWebhookKey = WebhookKeyPrefix + base64.StdEncoding.EncodeToString([]byte(strings.Repeat("n", 64)))
)

// NPPAKey is a key of the receiver of the NPPA, as a key file has it.
const NPPAKey = "2836e95fcd10e04b0069bb1ee659955b"

// ConfigWithKeys is a configuration of games whose receivers have the key files hook.key and
// nppa.key.
const ConfigWithKeys = `games:
  hook: {behaviours: {sink: {type: webhook, url: "https://x.example", secret_file: hook.key}}}
  nppa: {behaviours: {sink: {type: nppa, app_id: A, biz_id: B, secret_file: nppa.key}}}
`

// WriteBeside writes a file into the folder of a configuration file.
func WriteBeside(t testing.TB, config, name, text string) {
	t.Helper()
	if err := os.WriteFile(filepath.Join(filepath.Dir(config), name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}
