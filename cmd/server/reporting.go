package main

import (
	"context"
	"fmt"
	"log/slog"
	"math"
	"sync"
	"time"

	"laststand/internal/eventq"
	"laststand/internal/eventq/filesink"
	"laststand/internal/eventq/nppa"
	"laststand/internal/eventq/playerevents"
	"laststand/internal/eventq/redisqueue"
	"laststand/internal/eventq/webhooksink"
	"laststand/internal/webhook"
)

// reporting queues the behaviours of players per game, and sends them to the sink of the game.
type reporting struct {
	*eventq.Service
	sessionEvents *playerevents.Service
	admin         eventq.Admin
	sinks         map[string]eventq.Sink // by game
}

func (n *node) createReporting() error {
	r := &n.reporting
	if err := r.openSinks(&n.config, n.receiverKeys, n.clients); err != nil {
		return err
	}
	var policies []eventq.Policy
	for _, name := range n.config.gameNames() {
		policies = append(policies, n.config.queuePolicy(name))
	}
	queue := redisqueue.New(n.redis.Bulk)
	r.admin = queue
	r.Service = eventq.New(eventq.Config{
		Games: policies, Sinks: r.sinks, Queue: queue, Admin: queue, Nodes: queue,
		Node: n.id, Now: n.now, Logger: n.log, Registry: n.registry,
	})
	r.sessionEvents = playerevents.New(playerevents.Config{
		Games: policies, Offer: r.OfferUnique, Duty: r.Duty, Sessions: redisqueue.NewSessionStore(n.redis.Bulk),
		Node: n.id, Now: n.now, Logger: n.log, Registry: n.registry,
	})
	return nil
}

// openSinks opens the sink of each game. After an error, closeSinks closes the sinks that are
// open.
func (r *reporting) openSinks(c *config, keys *receiverKeys, clients clients) error {
	r.sinks = make(map[string]eventq.Sink)
	for _, name := range c.gameNames() {
		s, err := openSink(c.gameSinkOptions(name, keys), clients)
		if err != nil {
			return fmt.Errorf("games.%s.behaviours.sink: %w", name, err)
		}
		r.sinks[name] = s
	}
	return nil
}

func openSink(options sinkOptions, clients clients) (eventq.Sink, error) {
	switch options.Type {
	case sinkWebhook:
		return webhooksink.New(webhooksink.Options{
			URL: options.URL, Format: webhooksink.Format(options.Format), Client: clients[options.AllowPrivate],
			Keys: func() ([]webhook.Key, error) {
				keys, err := options.Keys()
				if err != nil {
					return nil, err
				}
				return parseWebhookKeys(keys)
			},
		})
	case sinkNPPA:
		return nppa.New(nppa.Options{
			HTTP: clients[options.AllowPrivate], URL: options.URL, AppID: options.AppID, BizID: options.BizID, Keys: options.Keys, TestCode: options.TestCode,
		})
	}
	return filesink.Open(filesink.Options{Path: options.Path, MaxBytes: int64(options.MaxFileMiB) << 20, Keep: options.MaxFiles, CreateLater: options.OpenLater})
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

// discardQueued discards the behaviours that are still queued, and logs their number per game.
func (r *reporting) discardQueued(games []string, log *slog.Logger) {
	ctx, cancel := context.WithTimeout(context.Background(), finalReportTimeout)
	defer cancel()
	for _, game := range games {
		discarded, err := r.admin.Discard(ctx, game, math.MaxInt32, eventq.Shutdown)
		if discarded > 0 || err != nil {
			log.Warn("behaviours lost with the embedded Redis", "game", game, "behaviours", discarded, "error", err)
		}
	}
}

// closeSinks closes the sinks. No reporter may be running.
func (r *reporting) closeSinks() (errs []error) {
	for _, s := range r.sinks {
		errs = append(errs, s.Close())
	}
	return errs
}
