package main

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/gorilla/websocket"

	"laststand/loadtest/harness"
	"laststand/loadtest/player"
)

// clients are the clients of one process.
type clients struct {
	open     []*client
	lost     atomic.Int64
	gone     sync.WaitGroup
	contests *contests
}

// client is a client that only stays connected.
type client struct {
	read    func() error
	close   func() error
	dropped atomic.Bool
}

// replyTimeout bounds every wait of a client.
const replyTimeout = time.Minute

// serveClients carries out orders until the input ends.
func serveClients(in io.Reader, out io.Writer) error {
	var c clients
	orders, answers := json.NewDecoder(in), json.NewEncoder(out)
	for {
		var o order
		if err := orders.Decode(&o); err != nil {
			return nil //nolint:nilerr // the parent has no more orders, or has ended
		}
		t, err := c.obey(o)
		if err != nil {
			t.Error = err.Error()
		}
		t.Lost += int(c.lost.Load())
		if err := answers.Encode(t); err != nil {
			return err
		}
	}
}

func (c *clients) obey(o order) (counts, error) {
	switch o.Do {
	case "connect":
		return c.connect(o)
	case "drop":
		c.drop()
		return counts{}, nil
	case "seat":
		c.contests = &contests{order: o}
		return counts{}, c.contests.seat()
	case "ask":
		return counts{}, c.contests.wait()
	case "back":
		return c.contests.back()
	}
	return counts{}, errors.New("no such order: " + o.Do)
}

// connect starts clients at even intervals. It does not wait for the earlier ones.
func (c *clients) connect(o order) (counts, error) {
	var mu sync.Mutex
	var failed error
	t := counts{Refused: map[string]int{}}
	began := time.Now()
	var all sync.WaitGroup
	for i := range o.Count {
		due := began.Add(o.Within * time.Duration(i) / time.Duration(o.Count))
		time.Sleep(time.Until(due))
		all.Go(func() {
			one, refused, err := o.enter(i)
			took := time.Since(due).Microseconds()
			mu.Lock()
			defer mu.Unlock()
			for _, code := range refused {
				t.Refused[code]++
			}
			if err != nil {
				failed = err
				return
			}
			t.Took = append(t.Took, took)
			c.open = append(c.open, one)
			c.gone.Go(func() { c.stay(one) })
		})
	}
	all.Wait()
	return t, failed
}

// enter connects a client. It retries as long as the server asks it to.
func (o order) enter(i int) (one *client, refused []string, err error) {
	for until := time.Now().Add(replyTimeout); time.Now().Before(until); {
		if one, err = o.dial(i); err == nil {
			return one, refused, nil
		}
		code, after, again := turnedAway(err)
		if !again {
			return nil, refused, err
		}
		refused = append(refused, code)
		time.Sleep(after)
	}
	return nil, refused, err
}

// turnedAway returns the close code of a refused connection, and when the client must
// retry. A connection that was cut has no close code and counts as "cut". A node that is
// short of places cuts the connections that have been silent longest.
func turnedAway(err error) (code string, after time.Duration, again bool) {
	if errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, syscall.ECONNRESET) {
		return "cut", time.Second, true
	}
	after, again = player.ReconnectAfter(err)
	why, said := errors.AsType[*websocket.CloseError](err)
	if !said {
		return "", 0, false
	}
	return strconv.Itoa(why.Code), after, again
}

func (o order) dial(i int) (*client, error) {
	ctx, cancel := context.WithTimeout(context.Background(), replyTimeout)
	defer cancel()
	from, at := harness.Source((o.First+i)/harness.PerSource), o.Nodes[i%len(o.Nodes)]
	if o.Ours {
		g, err := guest(o.First + i)
		if err != nil {
			return nil, err
		}
		p, err := player.ConnectBy(ctx, from, at, g, nil)
		if err != nil {
			return nil, err
		}
		return &client{read: func() error { _, err := p.ReadRaw(time.Hour); return err }, close: p.Close}, nil
	}
	dialer := websocket.Dialer{NetDialContext: from.DialContext, ReadBufferSize: 1024, WriteBufferSize: 512}
	conn, answer, err := dialer.DialContext(ctx, "ws"+strings.TrimPrefix(at, "http")+"/v1/ws", nil)
	if err != nil {
		return nil, err
	}
	_ = answer.Body.Close()
	read := func() error { _, _, err := conn.ReadMessage(); return err }
	if err = conn.WriteMessage(websocket.TextMessage, []byte(strings.Repeat("hello", 60))); err == nil { // as long as a hello with a token
		err = read()
	}
	if err != nil {
		_ = conn.Close()
		return nil, err
	}
	return &client{read: read, close: conn.Close}, nil
}

func guest(number int) (player.Guest, error) {
	id := "resident_" + strconv.Itoa(number)
	token, err := harness.Token("player", id)
	return player.Guest{ID: id, Token: token}, err
}

// stay reads until the connection ends.
func (c *clients) stay(one *client) {
	for one.read() == nil { //nolint:revive // the content does not matter
	}
	if !one.dropped.Load() {
		c.lost.Add(1)
	}
}

// drop closes all connections.
func (c *clients) drop() {
	for _, one := range c.open {
		one.dropped.Store(true)
		_ = one.close()
	}
	c.gone.Wait()
	c.open = nil
}
