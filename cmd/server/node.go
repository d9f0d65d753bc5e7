package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"regexp"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/config"
	"laststand/internal/httpapi"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/overload"
	"laststand/internal/quiz"
	"laststand/internal/redisx"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/timer"
	"laststand/internal/webhook"
	"laststand/internal/ws"
)

// node is one running server with all its services.
type node struct {
	id       string // "n_" and a ULID, new at each start
	config   config.Config
	log      *slog.Logger
	registry metricRegistry
	now      func() int64 // cluster time, epoch ms

	redis        *redisx.Conn
	clock        *redisx.Clock
	inbox        *redisx.Inbox
	ledger       *ledger.Ledger
	ledgerWatch  *ledgerWatch
	wheel        *timer.Wheel
	presence     match.Presence
	tracing      tracing
	clients      clients              // HTTP clients for sinks and webhooks
	receiverKeys *config.ReceiverKeys // keys that sign messages to sinks and webhooks
	proxies      *httpserver.TrustedProxies
	limits       *limits
	shedder      *overload.Shedder

	banks             *quiz.Library
	identity          *identity.Registry
	gameKeys          *config.GameKeys // keys of operators that sign and verify tokens
	engine            *match.Engine
	matches           *redismatch.Store
	lobby             *lobby.Lobby
	arenas            *arena.Service
	leaderboards      *leaderboard.Applier
	leaderboardReader *leaderboard.Reader
	display           *leaderboard.Display
	settler           *settle.Service
	answers           *answers.Saver
	maintainer        *taskqueue.Maintainer
	taskNotifier      *taskqueue.Notifier
	webhookRegistry   *webhook.Registry // the webhooks of all games
	dispatcher        *webhook.Dispatcher
	workers           *taskqueue.Workers
	sessions          *ws.Server
	revocableCalls    *httpapi.RevocableCalls

	reporting reporting

	players, operators *http.Server            // the servers of --listen and --ops-listen
	certificate        *httpserver.Certificate // nil: no TLS
	draining           atomic.Bool
}

// pingInterval is how often the server pings a session.
const pingInterval = 25 * time.Second

// open connects to the stores and creates all services. No background task starts before run.
// The caller must call run, which closes the node.
func open(ctx context.Context, c config.Config, log *slog.Logger) (*node, error) {
	return openWithMetrics(ctx, c, log, prometheus.NewRegistry())
}

// heapLiveMetric selects the metric go_gc_heap_live_bytes: the live heap at the last collection.
// The heap in use would be no measure of it, because most of that is garbage.
var heapLiveMetric = collectors.GoRuntimeMetricsRule{Matcher: regexp.MustCompile(`^/gc/heap/live:bytes$`)}

type metricRegistry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

func openWithMetrics(ctx context.Context, c config.Config, log *slog.Logger, metrics metricRegistry) (*node, error) {
	n := &node{id: "n_" + ulid.Make().String(), config: c, log: log, registry: metrics, wheel: newWheel(metrics), clients: newClients()}
	n.registry.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(heapLiveMetric)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(n.registry)
	n.taskNotifier = taskqueue.NewNotifier(n.registry)
	var err error
	if n.tracing, err = newTracing(ctx, n); err != nil {
		return nil, err
	}
	err = n.openStores(ctx)
	if err == nil {
		n.certificate, err = openCertificate(&n.config, n.registry, n.log)
	}
	if err == nil {
		err = n.createServices(ctx)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *node) openStores(ctx context.Context) (err error) {
	if n.redis, err = redisx.Open(ctx, redisx.Config{URL: n.config.Secret(n.config.Redis), Registry: n.registry, Logger: n.log}); err != nil {
		return err
	}
	if n.clock, err = redisx.NewClock(ctx, n.redis, redisx.ClockConfig{Registry: n.registry, Logger: n.log}); err != nil {
		return err
	}
	n.now = n.clock.Now
	n.inbox = redisx.NewInbox(n.redis, redisx.InboxConfig{Node: n.id, Registry: n.registry, Logger: n.log})
	if n.webhookRegistry, err = webhook.NewRegistry(n.config.Endpoints(), n.registry); err != nil {
		return err
	}
	ledgerConfig := n.config.Ledger(n.log)
	ledgerConfig.NotifyTopic, ledgerConfig.Events, ledgerConfig.Registry = n.taskNotifier.Notify, n.webhookRegistry, n.registry
	if n.redis.Kind != redisx.KindEmbedded { // with an embedded Redis the machine's clock is the cluster's clock
		ledgerConfig.ClusterTime = n.now
	}
	if n.ledger, err = ledger.Open(ctx, ledgerConfig); err != nil {
		return err
	}
	n.clock.SetSecondClock(n.ledger.Now)
	return nil
}

// close closes the timing wheel, the sinks, the HTTP clients and the stores. It accepts a node
// that open has created only in part.
func (n *node) close() {
	n.wheel.Close()
	if err := n.reporting.closeSinks(); err != nil {
		n.log.Warn("behaviour sink close failed", "error", err)
	}
	n.clients.close()
	n.tracing.close()
	if n.ledger != nil {
		if err := n.ledger.Close(); err != nil {
			n.log.Warn("ledger close failed", "error", err)
		}
	}
	if n.redis != nil {
		if err := n.redis.Close(); err != nil {
			n.log.Warn("redis close failed", "error", err)
		}
	}
}

// run serves players and operators until ctx ends or a listener fails. Then it stops what sends
// before what receives: players, requests, match steps, reporting, settlement, stores. It calls
// announce just before it starts to serve players. It returns nil after an orderly stop. It
// closes the node.
func (n *node) run(ctx context.Context, players, operators net.Listener, announce func()) error {
	defer n.close()
	stopLedgerTasks := startTasks(n.log, n.clock.Run, n.inbox.Run, n.settler.Run, n.answers.Run, n.leaderboards.Run, n.maintainer.Run, n.taskNotifier.Run)
	stopWebhookTasks := startTasks(n.log, n.dispatcher.Run, n.workers.Run)
	stopReportingTasks := startTasks(n.log, n.reporting.Run, n.receiverKeys.Run, n.gameKeys.Run, n.identity.Revocations.Run)
	stopPlayerTasks := startTasks(n.log, n.reporting.players.Run)
	stopMatchTasks := startTasks(n.log, append(maintenance{n}.dayTasks(), n.engine.Run, n.lobby.Run, n.banks.Run, n.identity.Run, n.display.Run, n.shedder.Run, n.sessions.Run)...)
	stopMaintenanceTasks := startTasks(n.log, append(maintenance{n}.cleanupTasks(), n.certificate.Run, n.ledgerWatch.run)...)
	failed := make(chan error, 2)
	go func() { failed <- n.operators.Serve(operators) }() // operators.Close below ends this goroutine
	n.awaitLeaderboards(ctx)
	announce()
	go func() { failed <- serveHTTP(n.players, n.certificate, players) }() // Shutdown in stopServingPlayers ends this goroutine
	systemd := supervisor{operators.Addr(), n.log}
	stopSupervisor := startTasks(n.log, systemd.Run)
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
		if errors.Is(err, http.ErrServerClosed) {
			err = nil
		}
	}
	n.stopServingPlayers(systemd)
	stopMatchTasks()
	n.wheel.Close()
	stopPlayerTasks()
	n.stopReporting(stopReportingTasks)
	stopWebhookTasks()
	stopLedgerTasks()
	stopMaintenanceTasks()
	stopSupervisor()
	return errors.Join(err, n.operators.Close())
}

// leaderboardsTimeout is the maximum time that a starting node waits for its leaderboards. An
// empty or small ledger needs less. With a large ledger the node starts without leaderboards,
// and /readyz fails until they are built.
const leaderboardsTimeout = 3 * time.Second

func (n *node) awaitLeaderboards(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, leaderboardsTimeout)
	defer cancel()
	if err := n.leaderboards.Await(ctx); err != nil {
		n.log.Info("server started before the leaderboards are built; /readyz fails until then", "error", err)
	}
}

// stopReporting stops the reporting of behaviours. An embedded Redis loses its queues when the
// process ends, so the node sends the queued behaviours first. The queues in a shared Redis
// remain for the other nodes.
func (n *node) stopReporting(stopTasks func()) {
	if n.redis.Kind != redisx.KindEmbedded {
		stopTasks()
		return
	}
	n.reporting.sendQueued(n.config.GameNames())
	stopTasks()
	n.reporting.discardQueued(n.config.GameNames(), n.log)
}

// stopServingPlayers announces the stop to the players and waits for their matches, for at most
// the drain timeout. Then it waits up to 5 s for open HTTP requests and closes the listener.
func (n *node) stopServingPlayers(systemd supervisor) {
	n.draining.Store(true)
	drain := n.config.DrainTimeout()
	systemd.reportStop(drain)
	n.log.Info("server is stopping", "drain", drain)
	ctx, cancel := context.WithTimeout(context.Background(), drain)
	defer cancel()
	n.sessions.Drain(ctx)
	ctx, cancel = context.WithTimeout(context.Background(), 5*time.Second)
	defer cancel()
	if err := n.players.Shutdown(ctx); err != nil {
		n.log.Warn("HTTP shutdown timed out; requests were aborted", "error", err)
	}
}
