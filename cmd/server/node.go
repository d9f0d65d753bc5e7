package main

import (
	"context"
	"errors"
	"log/slog"
	"net"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/oklog/ulid/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"

	"laststand/internal/arena"
	"laststand/internal/certificate"
	"laststand/internal/httpapi"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/leaderboard/display"
	"laststand/internal/ledger"
	"laststand/internal/limit"
	"laststand/internal/loadshed"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/proxies"
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
	config   config
	log      *slog.Logger
	registry metricRegistry
	now      func() int64 // cluster time, epoch ms

	redis      *redisx.Conn
	clock      *redisx.Clock
	inbox      *redisx.Inbox
	ledger     *ledger.Ledger
	wheel      *timer.Wheel
	presence   match.Presence
	taskSignal taskqueue.Notifier // wakes the task workers of this node when there are new tasks
	clients    clients
	keys       *receiverKeys
	proxies    *proxies.Trusted
	limiter    *limit.Limiter
	shedder    *loadshed.Shedder
	duelLimit  *loadshed.DuelLimit

	banks           *banks
	identity        *identity.Registry
	gameKeys        *gameKeys
	engine          *match.Engine
	matches         *redismatch.Store
	lobby           *lobby.Lobby
	arenas          *arena.Service
	boards          *leaderboard.Applier
	reader          *leaderboard.Reader
	display         *display.Display
	settler         *settle.Settler
	maintainer      *taskqueue.Maintainer
	taskNotifier    *taskNotifier
	webhookRegistry *webhook.Registry // the webhooks of all games
	dispatcher      *webhook.Dispatcher
	workers         *taskqueue.Workers
	sessions        *ws.Server
	revocableCalls  *httpapi.RevocableCalls

	reporting reporting

	players, operators *http.Server      // the servers of --listen and --ops-listen
	certificate        *certificate.Pair // nil: no TLS
	draining           atomic.Bool
}

// pingInterval is how often the server pings a session.
const pingEvery = 25 * time.Second

// open connects to the stores and creates all services. No background task starts before run.
// The caller must call run, which closes the node.
func open(ctx context.Context, c config, log *slog.Logger) (*node, error) {
	return openWithMetrics(ctx, c, log, prometheus.NewRegistry())
}

// metricRegistry registers the metrics of all packages and serves them.
type metricRegistry interface {
	prometheus.Registerer
	prometheus.Gatherer
}

func openWithMetrics(ctx context.Context, c config, log *slog.Logger, metrics metricRegistry) (*node, error) {
	n := &node{id: "n_" + ulid.Make().String(), config: c, log: log, registry: metrics, wheel: timer.New(timer.Config{}), clients: newClients()}
	n.registry.MustRegister(collectors.NewGoCollector(collectors.WithGoCollectorRuntimeMetrics(aliveMetric)), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	registerBuildInfo(n.registry, currentBuild())
	showTimers(n.registry, n.wheel)
	n.taskNotifier = newTaskNotifier(&n.taskSignal, n.registry)
	err := n.openCertificate()
	if err == nil {
		err = n.openStores(ctx)
	}
	if err == nil {
		err = n.wire(ctx)
	}
	if err != nil {
		n.close()
		return nil, err
	}
	return n, nil
}

func (n *node) openStores(ctx context.Context) (err error) {
	if n.redis, err = redisx.Open(ctx, redisx.Config{URL: n.config.Redis, Registry: n.registry, Logger: n.log}); err != nil {
		return err
	}
	if n.clock, err = redisx.NewClock(ctx, n.redis, redisx.ClockConfig{Registry: n.registry, Logger: n.log}); err != nil {
		return err
	}
	n.now = n.clock.Now
	n.inbox = redisx.NewInbox(n.redis, redisx.InboxConfig{Node: n.id, Registry: n.registry, Logger: n.log})
	if n.webhookRegistry, err = webhook.NewRegistry(n.config.endpoints(), n.registry); err != nil {
		return err
	}
	ledgerConfig := n.config.ledgerConfig(n.log)
	ledgerConfig.Wake, ledgerConfig.Events, ledgerConfig.Registry = n.taskNotifier.Notify, n.webhookRegistry, n.registry
	if n.redis.Kind != redisx.KindEmbedded { // with an embedded Redis the machine's clock is the cluster's clock
		ledgerConfig.Cluster = n.now
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
	if err := errors.Join(n.reporting.close()...); err != nil {
		n.log.Warn("behaviour sink close failed", "error", err)
	}
	n.clients.close()
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
	days := dayChanges{n.config.gameNames(), n.ledger, n.boards, n.log}
	ledgerLoops := startLoops(n.log, n.clock.Run, n.inbox.Run, n.settler.Run, n.boards.Run, n.maintainer.Run, n.taskNotifier.Run)
	webhookLoops := startLoops(n.log, n.dispatcher.Run, n.workers.Run)
	reporting := startLoops(n.log, n.reporting.Run, n.keys.Run, n.gameKeys.Run, n.identity.Revocations.Run)
	sessionLoops := startLoops(n.log, n.reporting.sessionEvents.Run)
	matchLoops := startLoops(n.log, n.engine.Run, n.lobby.Run, n.banks.Run, n.identity.Run, n.display.Run, n.shedder.Run, n.duelLimit.Run, days.Run, days.Sum)
	erasures := erasures{n.ledger, n.boards, ledger.ErasureKept, n.log}
	maintenanceLoops := startLoops(n.log, append(n.followCertificate(), auditRetention{n.ledger, n.config.Audit.keep(), n.log}.Run, erasures.Run)...)
	failed := make(chan error, 2)
	go func() { failed <- n.operators.Serve(operators) }() // operators.Close below ends this goroutine
	n.awaitBoards(ctx)
	announce()
	go func() { failed <- n.servePlayers(players) }() // Shutdown in stopServingPlayers ends this goroutine
	var err error
	select {
	case <-ctx.Done():
	case err = <-failed:
	}
	n.leave()
	matchLoops.end()
	n.wheel.Close()
	sessionLoops.end()
	n.stopReporting(reporting)
	webhookLoops.end()
	ledgerLoops.end()
	maintenanceLoops.end()
	return errors.Join(ignoreClosed(err), n.operators.Close())
}

// leaderboardsTimeout is the maximum time that a starting node waits for its leaderboards. An
// empty or small ledger needs less. With a large ledger the node starts without leaderboards,
// and /readyz fails until they are built.
const boardsTimeout = 3 * time.Second

func (n *node) awaitBoards(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, boardsTimeout)
	defer cancel()
	if err := n.boards.Await(ctx); err != nil {
		n.log.Info("server started before the leaderboards are built; /readyz fails until then", "error", err)
	}
}

// stopReporting stops the reporting of behaviours. An embedded Redis loses its queues when the
// process ends, so the node sends the queued behaviours first. The queues in a shared Redis
// remain for the other nodes.
func (n *node) stopReporting(reporting *loops) {
	if n.redis.Kind != redisx.KindEmbedded {
		reporting.end()
		return
	}
	n.reporting.flush(n.config.gameNames())
	reporting.end()
	n.reporting.discard(n.config.gameNames(), n.log)
}

// stopServingPlayers announces the stop to the players and waits for their matches, for at most
// the drain timeout. Then it waits up to 5 s for open HTTP requests and closes the listener.
func (n *node) leave() {
	n.draining.Store(true)
	drain, _ := n.config.drain() // validate checked it
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

// backgroundTasks is a group of background tasks that run until stopAndWait is called.
type loops struct {
	running sync.WaitGroup
	stop    context.CancelFunc
}

// backgroundTask runs until its context ends. It returns nil then.
type loop = func(context.Context) error

// startTasks starts each task in its own goroutine. It logs the error of a task that fails.
func startLoops(log *slog.Logger, run ...loop) *loops {
	ctx, stop := context.WithCancel(context.Background())
	l := &loops{stop: stop}
	for _, f := range run {
		l.running.Go(func() {
			if err := f(ctx); err != nil {
				log.Error("background task failed", "error", err)
			}
		})
	}
	return l
}

// stopAndWait stops the tasks and waits until all have returned.
func (l *loops) end() {
	l.stop()
	l.running.Wait()
}

func ignoreClosed(err error) error {
	if errors.Is(err, http.ErrServerClosed) {
		return nil
	}
	return err
}
