package attack

import (
	"bytes"
	"context"
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// clients are HTTP clients, one for each address to connect from.
type clients []*http.Client

func newClients(sources []string) clients {
	all := make(clients, len(sources))
	for i, source := range sources {
		all[i] = &http.Client{
			Timeout: callWithin,
			Transport: &http.Transport{
				DialContext: dialer(source).DialContext, MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16, DisableCompression: true,
			},
		}
	}
	return all
}

// callWithin bounds a request, a dial, and the wait for one frame.
const callWithin = 10 * time.Second

func dialer(source string) *net.Dialer {
	return &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(source)}, Timeout: callWithin}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}

// call is a request.
type call struct {
	method, path, body string
	header             http.Header
	ops                bool // to the operations listener
	host               string
}

// reply is the answer to a call; its status is 0 if none came.
type reply struct {
	status int
	body   string
}

// mostBody bounds how much of an answer is read, in bytes.
const mostBody = 1 << 20

// ask makes a request and notes how the server refused it. Some answers are violations:
// a 5xx other than 503, a 429 or 503 without a Retry-After, and our own refusal without
// a problem document.
func (a *attacker) ask(ctx context.Context, worker int, c call) reply {
	url := a.URL
	if c.ops {
		url = a.Ops
	}
	r, err := http.NewRequestWithContext(ctx, c.method, url+c.path, strings.NewReader(c.body))
	if err != nil {
		a.addViolation("a request of our own is wrong: %v", err)
		return reply{}
	}
	if c.body != "" {
		r.Header.Set("Content-Type", "application/json")
	}
	for name, values := range c.header {
		r.Header[name] = values
	}
	r.Host = c.host
	answer, err := a.clients[worker%len(a.clients)].Do(r)
	if err != nil {
		a.lost(ctx, "cut")
		return reply{}
	}
	defer answer.Body.Close()
	body, err := io.ReadAll(io.LimitReader(answer.Body, mostBody))
	if err != nil {
		a.lost(ctx, "cut")
		return reply{}
	}
	of := "http "
	if c.ops {
		of = "ops "
	}
	a.asked(c.method+" "+c.path, of, answer, body)
	return reply{answer.StatusCode, string(body)}
}

// lost notes a connection that ended, unless we ended it.
func (a *attacker) lost(ctx context.Context, how string) {
	if ctx.Err() == nil {
		a.refused(how)
	}
}

// asked notes an answer: "http 429" for a problem of the API, "ops 401" for one of the
// operations listener. "bare 431" is an answer of the HTTP library, which comes before
// any handler.
func (a *attacker) asked(what, of string, answer *http.Response, body []byte) {
	status := answer.StatusCode
	if status < 400 {
		a.served()
		return
	}
	if !strings.HasPrefix(answer.Header.Get("Content-Type"), "application/problem+json") {
		of = "bare "
	}
	a.refused(of + strconv.Itoa(status))
	again := status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
	switch {
	case again && answer.Header.Get("Retry-After") == "":
		a.addViolation("%.80s was answered with %d without a Retry-After", what, status)
	case status >= 500 && status != http.StatusServiceUnavailable && of != "bare ":
		a.addViolation("%.80s was answered with %d: %.200s", what, status, body)
	case bytes.Contains(body, []byte("goroutine ")), bytes.Contains(body, []byte("panic")):
		a.addViolation("%.80s shows the inside of the server: %.200s", what, body)
	}
}
