package stress

import (
	"bytes"
	"context"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"

	"laststand/loadtest/players"
)

// callTimeout bounds a request, a dial, and the wait for one frame.
const callTimeout = 10 * time.Second

// firstAddress is the number of the first address of attackers: 127.2.0.1.
const firstAddress = 2 * 62500

// dialer returns the dialer of a worker.
func (a *attacker) dialer(worker int) *net.Dialer {
	d := players.FromAddress(firstAddress + worker%a.Addresses)
	d.Timeout = callTimeout
	return d
}

type call struct {
	method, path, body string
	header             http.Header
	isOps              bool // to the operations listener
	host               string
}

// answer is the answer to a call; its status is 0 if none came.
type answer struct {
	status int
	body   string
}

// maxBody bounds how much of an answer is read, in bytes.
const maxBody = 1 << 20

func (a *attacker) ask(ctx context.Context, worker int, c call) answer {
	url, listener := a.URL, "http "
	if c.isOps {
		url, listener = a.Ops, "ops "
	}
	r, err := http.NewRequestWithContext(ctx, c.method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		a.violation("this program makes an invalid request: %v", err)
		return answer{}
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Host = c.host
	response, err := a.clients[worker%len(a.clients)].Do(r)
	var body []byte
	if err == nil {
		defer response.Body.Close()
		body, err = io.ReadAll(io.LimitReader(response.Body, maxBody))
	}
	if err != nil {
		a.lost(ctx, "cut")
		return answer{}
	}
	a.noteAnswer(c.method+" "+c.path, listener, response, body)
	return answer{response.StatusCode, string(body)}
}

// noteAnswer notes an answer: "http 429" for a problem of the API, "ops 401" for one of
// the operations listener. "bare 431" is an answer of the HTTP library, which comes
// before any handler. Some answers are violations: a 5xx other than 503, a 429 or 503
// without a Retry-After, and a look inside the server.
func (a *attacker) noteAnswer(request, listener string, response *http.Response, body []byte) {
	status := response.StatusCode
	if status < 400 {
		return
	}
	if !strings.HasPrefix(response.Header.Get("Content-Type"), "application/problem+json") {
		listener = "bare "
	}
	a.refused(listener + strconv.Itoa(status))
	isForNow := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	switch {
	case isForNow && response.Header.Get("Retry-After") == "":
		a.violation("%.80s was answered with %d without a Retry-After", request, status)
	case status >= 500 && status != http.StatusServiceUnavailable && listener != "bare ":
		a.violation("%.80s was answered with %d: %.200s", request, status, body)
	case bytes.Contains(body, []byte("goroutine ")), bytes.Contains(body, []byte("panic")):
		a.violation("%.80s shows the inside of the server: %.200s", request, body)
	}
}

func newGuest(header http.Header) call {
	body := fmt.Sprintf(`{"device":%q}`, rand.Text()+rand.Text()[:6])
	return call{method: "POST", path: "/v1/games/demo/guests", body: body, header: header}
}
