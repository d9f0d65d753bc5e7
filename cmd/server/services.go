package main

import (
	"context"
	"fmt"
	"net/http"

	"laststand/internal/answers"
	"laststand/internal/arena"
	"laststand/internal/config"
	"laststand/internal/eventq"
	"laststand/internal/eventq/redisqueue"
	"laststand/internal/httpapi"
	"laststand/internal/httpserver"
	"laststand/internal/identity"
	"laststand/internal/leaderboard"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/metric"
	"laststand/internal/nickname"
	"laststand/internal/ops"
	"laststand/internal/redisstore"
	"laststand/internal/redisx"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/webhook"
	"laststand/internal/ws"
	"laststand/web"
)

// createServices creates the services of a node, each before the services that call it: names
// and banks, reporting, webhooks, leaderboards, matches, settlement, the lobby, the servers.
func (n *node) createServices(ctx context.Context) error {
	tokens, err := n.config.OpenTokens(ctx, n.ledger.TokenKeys, n.config.GameNames(), n.registry)
	if err != nil {
		return err
	}
	revocations, err := identity.OpenRevocations(ctx, identity.RevocationsConfig{Store: n.ledger.Revocations, Tokens: tokens, Now: config.WallClock, Logger: n.log, Registry: n.registry})
	if err != nil {
		return err
	}
	n.gameKeys, err = config.NewGameKeys(&n.config, tokens, n.log, n.closeRevoked)
	if err != nil {
		return err
	}
	wordLists := make(map[string]*nickname.Words)
	for _, name := range n.config.GameNames() {
		if wordLists[name], err = n.config.ReadWordLists(name); err != nil { // a file has changed since Validate
			return fmt.Errorf("games.%s.names: %w", name, err)
		}
	}
	n.identity = identity.Open(identity.Config{
		Tokens: tokens, Players: n.ledger.Players, Devices: n.ledger.Players, Names: n.ledger.Public.Names, NameSource: n.ledger.Names, Revocations: revocations,
		Epoch: n.ledger.Epoch(), Snapshots: newNameSnapshots(n.config.Data), Logger: n.log, Registry: n.registry,
		Words: wordLists, Reservations: redisstore.NewNames(n.redis.Client),
	})
	if n.banks, err = n.openBanks(ctx); err != nil {
		return err
	}
	if n.receiverKeys, err = config.OpenReceiverKeys(ctx, &n.config, n.ledger.TokenKeys, n.log); err != nil {
		return err
	}
	if err := n.createReporting(); err != nil {
		return err
	}
	n.maintainer = taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.ledger.Maintenance, Logger: n.log, Registry: n.registry})
	n.createWebhooks()
	n.createLeaderboards()
	n.createMatches()
	pages, err := n.webGames()
	if err != nil {
		return err
	}
	n.createServers(pages)
	n.ledgerWatch = n.newLedgerWatch()
	n.applyRevocations()
	n.handleMessages()
	return nil
}

func (n *node) createLeaderboards() {
	games := n.config.LeaderboardConfigs()
	store := redisstore.NewBoards(n.redis.Client)
	n.leaderboards = leaderboard.NewApplier(leaderboard.ApplierOptions{
		Games: games, Ledger: n.ledger.Leaderboards, Store: store, Now: n.now, Log: n.log, Registry: n.registry,
	})
	n.leaderboardReader = leaderboard.NewReader(games, store, leaderboard.NewArchive(n.ledger.Public.Leaderboards), n.now)
	n.display = leaderboard.NewDisplay(n.leaderboardReader, n.ledger.Public.Names, n.now, n.registry)
}

func (n *node) createMatches() {
	matches := redismatch.New(n.redis.Client, n.redis.Pipelined)
	unreplicatedWins := metric.For(n.registry, "laststand_match_").Counter("unreplicated_wins_total", "Buzzer questions whose winner was announced although no replica confirmed the answer within 100 ms.")
	matches.ConfirmByReplica(n.redis.HasReplicas, unreplicatedWins.Inc)
	n.matches = matches
	tickets := redisstore.NewLobby(n.redis.Pipelined)
	n.engine = match.New(match.Config{
		Matches: matches.Matches, Answers: matches.Answers, Places: matches.Places, Index: matches.Index, Results: matches.Results,
		Wheel: n.wheel, Presence: &n.presence, Now: n.now, Node: n.id, Bus: n.inbox,
		OnResult:    func(r *match.Result) { n.settler.Offer(*r) },
		OnArenaEnd:  func(a *match.Arena, game string) { n.arenas.ReleaseCode(game, a.Code) },
		OnSettled:   settledPusher{n.leaderboards, n.leaderboardReader}.push,
		OnLifecycle: func(t match.LifecycleEvent) { n.reporting.players.OnMatchLifecycle(t) },
		RefusesText: func(game, text string) bool { return n.identity.Words[game].RefuseTitle(text) != nil },
		Logger:      n.log, Registry: n.registry,
	})
	n.lobby = lobby.New(lobby.Config{
		Games: n.config.DuelSettings(), Tickets: tickets, Pairings: tickets, Activities: tickets, Matches: n.engine, Statuses: n.engine, Bank: n.banks, SeenStore: matches.Seen, Players: seatSource{n.ledger.Players}, DuelCounter: n.ledger.Results,
		Wheel: n.wheel, Now: n.now, Logger: n.log, Registry: n.registry, AddressKey: n.ledger.DeriveKey("addresses of duels"),
	})
	n.settler = settle.New(settle.Config{
		Ledger: tracedLedger{n.ledger.Results, n.tracing.tracer}, Pending: pendingResults{matches.Results, n.lobby}, DeadLetters: n.ledger.Tasks, Leaderboards: n.leaderboards,
		Notify: n.engine.NotifySettled, IsUnavailable: ledger.IsUnavailable, IsRefusal: ledger.IsResultRefused, Now: n.now, Logger: n.log, Registry: n.registry,
	})
	n.answers = answers.NewSaver(answers.Config{Store: matches, Ledger: n.ledger.Answers, IsUnavailable: ledger.IsUnavailable, Now: n.now, Logger: n.log, Registry: n.registry})
	n.createArenas(matches)
}

// maxEmbeddedPlayers is the maximum number of players in an arena with the embedded Redis, which
// sorts all players whenever it computes a rank.
const maxEmbeddedPlayers = 1000

func (n *node) createArenas(matches *redismatch.Store) {
	games := make(map[string]arena.GameSettings)
	for name, g := range n.config.Games {
		games[name] = arena.GameSettings{
			PlayersMayHost: g.PlayersMayHost, LimitMS: g.Arena.TimeLimitMS, CountdownMS: g.Arena.CountdownMS,
			RevealMS: g.Arena.RevealMS, TeamLockoutMS: g.Arena.TeamLockoutMS, MaxPlayers: g.Arena.MaxPlayers,
			Words: n.identity.Words[name],
		}
		if n.redis.Kind == redisx.KindEmbedded {
			rules := games[name]
			rules.MaxPlayers = min(rules.MaxPlayers, maxEmbeddedPlayers)
			games[name] = rules
		}
	}
	n.arenas = arena.New(arena.Config{
		Games: games, Matches: n.engine, Commands: n.engine, Audience: n.engine, Records: n.ledger.Public.Arenas, Seats: matches.Places, Codes: matches.Codes, Activities: n.lobby, Bank: n.banks, Players: seatSource{n.ledger.Players},
		Logger: n.log, Registry: n.registry,
	})
}

func (n *node) createServers(pages []web.Game) {
	n.limits = n.newLimits()
	n.proxies, n.shedder = trustedProxies(n.config.TrustedProxies, n.registry, n.log), n.newShedder()
	origins := httpserver.NewOrigins(n.config.Origins, n.proxies.IsTLS)
	limits := n.limits.httpLimits()
	n.sessions = ws.New(ws.Config{
		Identity: n.identity, Engine: n.engine, Lobby: n.lobby, Arenas: n.arenas, Boards: n.display, Presence: &n.presence, Reporter: n.reporting.players,
		SessionNumbers: redisstore.NewSessions(n.redis.Client, n.id, n.now), NotifyReplaced: n.sendSessionReplaced, Wheel: n.wheel, Now: n.now,
		Logger: n.log, Registry: n.registry, Tracer: n.tracing.tracer, IsOriginAllowed: origins.Allow, MaxConnections: n.config.Limits.Connections,
		MessagesPerSecond: n.config.Limits.MessagesPerSecond, PingInterval: pingInterval,
		Limits: n.limits.sessionLimits(limits.ArenaCodes), LoadShedder: n.shedder, ClientAddress: n.proxies.ClientAddress, OnSingleAddress: newSingleAddressWarning(n.config.TrustedProxies, n.registry, n.log),
	})
	n.revocableCalls = httpapi.NewRevocableCalls(func(c identity.Claims) error { return n.identity.CheckActive(c, c.Subject) })
	tenantQueue := taskqueue.NewTenantQueue(taskqueue.TenantConfig{Store: n.ledger.Tasks, Claims: n.ledger.Claims.OfTopics, Notifier: n.taskNotifier, Registry: n.registry})
	n.players = n.server("players", httpapi.New(httpapi.Config{
		Games: n.config.GameNames(), Tokens: n.identity, Guests: n.identity, Accounts: newAccessControl(n), Arenas: n.arenas, Voids: corrections{n}, Players: n.ledger.Public.Players, History: n.ledger.Public.History, Answers: n.ledger.Public.Answers, Seats: n.engine, Boards: n.display, Behaviours: n.reporting, Tasks: tenantQueue,
		Logger: n.log, Registry: n.registry, Tracer: n.tracing.tracer, Websocket: n.sessions, Page: web.Handler(pages), IsOriginAllowed: origins.Allow,
		ReadinessChecks: map[string]func(context.Context) error{
			"boards":   n.leaderboards.Ready,
			"clock":    n.clock.Ready,
			"database": n.ledger.Ping,
			"inbox":    n.inbox.Ready,
			"redis":    func(ctx context.Context) error { return n.redis.Client.Ping(ctx).Err() },
		},
		IsDraining: n.draining.Load, IsStoreDown: isStoreUnavailable, Limits: limits, ClientAddress: n.proxies.ClientAddress, IsTLS: n.proxies.IsTLS,
		LoadShedder: n.shedder, RevocableCalls: n.revocableCalls, Version: version,
	}))
	n.players.RegisterOnShutdown(tenantQueue.Close)
	n.operators = n.server("operations", ops.New(n.operations()))
}

// server returns the HTTP server of a listener. The name of the listener is a label in metrics
// and logs.
func (n *node) server(listener string, h http.Handler) *http.Server {
	return httpserver.New(httpserver.Config{Name: listener, Handler: h, Logger: n.log, Registry: n.registry, IsTLS: n.proxies.IsTLS})
}

func (n *node) createReporting() error {
	r := &n.reporting
	if err := r.openSinks(&n.config, n.receiverKeys, n.clients); err != nil {
		return err
	}
	var policies []eventq.Policy
	for _, name := range n.config.GameNames() {
		policies = append(policies, n.config.QueuePolicy(name))
	}
	queue := redisqueue.New(n.redis.Bulk)
	r.admin = queue
	r.Service = eventq.New(eventq.Config{
		Games: policies, Sinks: r.sinks, Queue: queue, Admin: queue, Nodes: queue,
		Node: n.id, Now: n.now, Logger: n.log, Registry: n.registry,
	})
	r.players = eventq.NewPlayers(r.Service)
	return nil
}

// createWebhooks creates the dispatcher of webhooks, and the workers of the task queue that
// deliver events.
func (n *node) createWebhooks() {
	poster := &httpserver.Poster{Clients: n.clients, Keys: func(endpoint webhook.Endpoint) ([]webhook.Key, error) {
		return parseWebhookKeys(n.receiverKeys.Current(n.config.WebhookKeys(endpoint.Game, config.Webhook{Name: endpoint.Name})))
	}}
	n.dispatcher = webhook.NewDispatcher(webhook.Config{
		Registry: n.webhookRegistry, EndpointStates: n.ledger.Endpoints, TaskCounter: n.ledger.Tasks, Queue: n.ledger.Tasks, Poster: tracedPoster{poster, n.tracing.tracer}, Logger: n.log,
		TopLists: leaderboard.NewTopLists(n.config.LeaderboardConfigs(), n.ledger.Leaderboards, n.ledger.Names),
	})
	n.workers = taskqueue.NewWorkers(taskqueue.Config{
		Store: n.ledger.Claims, Notifier: n.taskNotifier, Kinds: n.dispatcher.Services(), Logger: n.log, Registry: n.registry,
	})
}

func (n *node) webGames() (games []web.Game, err error) {
	for _, name := range n.config.GameNames() {
		logo, err := n.config.ReadLogo(name)
		if err != nil { // the file has changed since Validate
			return nil, fmt.Errorf("games.%s.page.logo: %w", name, err)
		}
		page := n.config.Games[name].Page
		games = append(games, web.Game{Name: name, Title: page.Title, Colors: page.Colors(), Logo: logo})
	}
	return games, nil
}
