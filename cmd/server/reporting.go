package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"strings"
	"sync"
	"time"

	"laststand/internal/config"
	"laststand/internal/eventq"
	"laststand/internal/eventq/sink"
	"laststand/internal/httpserver"
	"laststand/internal/webhook"
)

// reporting queues the behaviours of players per game, and sends them to the sink of the game.
type reporting struct {
	*eventq.Service
	players *eventq.Players
	admin   eventq.Admin
	sinks   map[string]eventq.Sink // by game
}

// openSinks opens the sink of each game. After an error, closeSinks closes the sinks that are
// open.
func (r *reporting) openSinks(c *config.Config, keys *config.ReceiverKeys, clients clients) error {
	r.sinks = make(map[string]eventq.Sink)
	for _, name := range c.GameNames() {
		source := c.SinkKeys(name)
		settings := c.Sink(name)
		settings.URL = c.Secret(settings.URL)
		s, err := openSink(settings, func() []string { return keys.Current(source) }, clients)
		if err != nil {
			return fmt.Errorf("games.%s.behaviours.sink: %w", name, err)
		}
		r.sinks[name] = s
	}
	return nil
}

// openSink opens the sink of a game. The sink calls keys for each attempt to send; the current
// key comes first. If the game does not configure behaviours, the sink creates its file when
// the first behaviour arrives.
func openSink(c config.Sink, keys func() []string, clients clients) (eventq.Sink, error) {
	switch c.Type {
	case config.SinkWebhook:
		return sink.NewWebhook(sink.WebhookOptions{
			URL: c.URL, Format: sink.Format(c.Format), Client: clients[c.AllowPrivate],
			Keys: func() ([]webhook.Key, error) { return parseWebhookKeys(keys()) },
		})
	case config.SinkNPPA:
		return sink.NewNPPA(sink.NPPAOptions{
			HTTP: clients[c.AllowPrivate], URL: c.URL, AppID: c.AppID, BizID: c.BizID, TestCode: c.TestCode,
			Keys: func() ([]string, error) { return keys(), nil },
		})
	}
	return sink.OpenFile(sink.FileOptions{Path: c.Path, MaxBytes: int64(c.MaxFileMiB) << 20, Keep: c.MaxFiles, CreateLater: !c.IsConfigured()})
}

func parseWebhookKeys(keys []string) ([]webhook.Key, error) {
	return webhook.ParseKeys(strings.Join(keys, "\n"))
}

// finalReportTimeout is the maximum time for sending the queued behaviours, and again for
// discarding the rest, when a server with an embedded Redis stops.
const finalReportTimeout = 5 * time.Second

// sendQueued sends the queued behaviours of all games, for at most finalReportTimeout.
func (r *reporting) sendQueued(games []string) {
	ctx, cancel := context.WithTimeout(context.Background(), finalReportTimeout)
	defer cancel()
	var group sync.WaitGroup
	for _, game := range games {
		group.Go(func() { _ = r.Drain(ctx, game) }) // discardQueued logs the behaviours that are left
	}
	group.Wait()
}

func (r *reporting) discardQueued(games []string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), finalReportTimeout)
	defer cancel()
	for _, game := range games {
		discarded, err := r.admin.Discard(ctx, game, eventq.Shutdown)
		if discarded > 0 || err != nil {
			log.Warn("behaviours lost with the embedded Redis", "game", game, "behaviours", discarded, "error", err)
		}
	}
}

// closeSinks closes the sinks, all at once, and returns all errors. No reporter may be
// running.
func (r *reporting) closeSinks() error {
	closed := make(chan error, len(r.sinks))
	for _, s := range r.sinks {
		go func() { closed <- s.Close() }()
	}
	var errs []error
	for range r.sinks {
		errs = append(errs, <-closed)
	}
	return errors.Join(errs...)
}

// clients holds the HTTP clients for webhooks and sinks: clients[true] may connect to
// private addresses, clients[false] may not.
type clients map[bool]*http.Client

func newClients() clients {
	return clients{false: httpserver.NewClient(httpserver.ClientOptions{}), true: httpserver.NewClient(httpserver.ClientOptions{AllowPrivate: true})}
}

func (c clients) close() {
	for _, client := range c {
		client.CloseIdleConnections()
	}
}
