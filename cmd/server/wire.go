package main

import (
	"context"
	"net/http"
	"time"

	"laststand/internal/arena"
	"laststand/internal/httpapi"
	"laststand/internal/httpguard"
	"laststand/internal/identity"
	"laststand/internal/identity/redisnames"
	"laststand/internal/leaderboard"
	"laststand/internal/leaderboard/display"
	"laststand/internal/leaderboard/redisboard"
	"laststand/internal/ledger"
	"laststand/internal/lobby"
	"laststand/internal/lobby/redislobby"
	"laststand/internal/match"
	"laststand/internal/match/redismatch"
	"laststand/internal/ops"
	"laststand/internal/redisx"
	"laststand/internal/settle"
	"laststand/internal/taskqueue"
	"laststand/internal/ws"
	"laststand/internal/ws/redissession"
	"laststand/web"
)

// createServices creates the services of a node, each before the services that call it: names
// and banks, reporting, webhooks, leaderboards, matches, settlement, the lobby, the servers.
func (n *node) wire(ctx context.Context) error {
	tokens, err := openTokens(ctx, &n.config, n.ledger, n.config.gameNames(), n.registry)
	if err != nil {
		return err
	}
	revocations, err := identity.OpenRevocations(ctx, identity.RevocationsConfig{Store: n.ledger, Tokens: tokens, Now: wallClock, Logger: n.log, Registry: n.registry})
	if err != nil {
		return err
	}
	n.gameKeys, err = newGameKeys(&n.config, tokens, n.log, n.recheck)
	if err != nil {
		return err
	}
	wordLists, err := n.config.allWords()
	if err != nil {
		return err
	}
	n.identity = identity.Open(identity.Config{
		Tokens: tokens, Players: n.ledger, Devices: n.ledger, Names: n.ledger.Public(), NameSource: n.ledger, Revocations: revocations,
		Epoch: n.ledger.Epoch(), Snapshots: n.config.nameSnapshots(), Logger: n.log, Registry: n.registry,
		Words: wordLists, Reservations: redisnames.New(n.redis.Client),
	})
	if err := n.identity.MigrateSkeletons(ctx); err != nil {
		return err
	}
	if n.banks, err = openBanks(ctx, &n.config, n.ledger, n.log); err != nil {
		return err
	}
	if n.keys, err = openReceiverKeys(ctx, &n.config, n.ledger, n.log); err != nil {
		return err
	}
	if err := n.wireReporting(); err != nil {
		return err
	}
	n.maintainer = taskqueue.NewMaintainer(taskqueue.MaintainerConfig{Store: n.ledger, Notifier: &n.taskSignal, Logger: n.log, Registry: n.registry})
	if err := n.wireWebhooks(); err != nil {
		return err
	}
	n.wireBoards()
	n.wireTaskNotifier()
	n.wireMatches()
	n.wireServers()
	n.wireRevocations()
	return nil
}

func (n *node) boardConfigs() (configs []leaderboard.Config) {
	for _, name := range n.config.gameNames() {
		configs = append(configs, n.config.boardConfig(name))
	}
	return configs
}

// pageTTL is how long a node with the embedded Redis may serve a cached leaderboard page. The
// embedded Redis sorts the whole leaderboard for every read.
const pageTTL = 250 * time.Millisecond

func (n *node) wireBoards() {
	games := n.boardConfigs()
	var options []redisboard.Option
	if n.redis.Kind == redisx.KindEmbedded {
		options = append(options, redisboard.CachePages(pageTTL))
	}
	store := redisboard.New(n.redis.Client, options...)
	n.boards = leaderboard.NewApplier(leaderboard.ApplierOptions{
		Games: games, Ledger: n.ledger, Store: store, Now: n.now, Log: n.log, Registry: n.registry,
	})
	n.reader = leaderboard.NewReader(leaderboard.ReaderOptions{
		Games: games, Source: store, Configs: store, Archive: leaderboard.NewArchive(n.ledger.Public()), Now: n.now,
	})
	n.display = display.New(display.Config{Reader: n.reader, Names: n.ledger.Public(), Now: n.now, Registry: n.registry})
}

func (n *node) wireMatches() {
	matches := redismatch.New(n.redis.Client, n.redis.Pipelined, redismatch.ConfirmByReplica(n.redis.HasReplicas, unreplicatedWinsCounter(n.registry)))
	n.matches = matches
	tickets := redislobby.New(n.redis.Client)
	notifier := settledNotifier{presence: &n.presence, boards: n.reader, matches: matches, inbox: n.inbox, wheel: n.wheel, log: n.log}
	n.engine = match.New(match.Config{
		Store: matches, Index: matches, Wheel: n.wheel, Presence: &n.presence, Now: n.now, Node: n.id, Bus: n.inbox,
		OnResult:    func(r *match.Result) { n.settler.Offer(*r) },
		OnArenaEnd:  func(a *match.Arena, game string) { n.arenas.ReleaseCode(game, a.Code) },
		OnSettled:   notifier.push,
		OnLifecycle: func(t match.LifecycleEvent) { n.reporting.sessionEvents.OnMatchLifecycle(t) },
		Logger:      n.log, Registry: n.registry,
	})
	notifier.engine = n.engine
	n.settler = settle.New(settle.Config{
		Ledger: n.ledger, Pending: pendingResults{matches, tickets}, DeadLetters: n.ledger, Leaderboards: n.boards,
		Notify: notifier.notify, IsUnavailable: ledger.Unavailable, IsRefusal: ledger.RefusesResult, Now: n.now, Logger: n.log, Registry: n.registry,
	})
	n.handleMessages(notifier)
	n.lobby = lobby.New(lobby.Config{
		Games: n.config.duelRules(), Store: tickets, Matches: n.engine, Bank: n.banks, SeenStore: matches, Players: seats{n.ledger}, Pairs: n.ledger,
		Wheel: n.wheel, Now: n.now, Logger: n.log, Registry: n.registry, AddressKey: n.ledger.DeriveKey("addresses of duels"),
	})
	n.wireArenas(matches)
}

// duelRules returns the duel settings of all games, by game.
func (c *config) duelRules() map[string]lobby.Duel {
	duels := make(map[string]lobby.Duel)
	for name, g := range c.Games {
		duels[name] = lobby.Duel{
			Questions: g.Duel.Questions, LimitMS: g.Duel.TimeLimitMS, CountdownMS: g.Duel.CountdownMS,
			RevealMS: g.Duel.RevealMS, BotAfterMS: g.Duel.BotAfterMS, Rated: g.Duel.Rated,
			PairLimitPerDay: int64(g.Duel.PairLimitPerDay), CountSameAddress: g.Duel.CountSameAddress,
		}
	}
	return duels
}

// maxEmbeddedPlayers is the maximum number of players in an arena with the embedded Redis, which
// sorts all players whenever it computes a rank.
const maxEmbeddedPlayers = 1000

func (n *node) wireArenas(matches *redismatch.Store) {
	games := make(map[string]arena.Game)
	for name, g := range n.config.Games {
		games[name] = arena.Game{
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
		Games: games, Matches: n.engine, Seats: matches, Codes: matches, Activities: n.lobby, Bank: arenaBanks{n.banks}, Players: seats{n.ledger},
		Logger: n.log, Registry: n.registry,
	})
}

// connectTaskNotifier connects this node's task notifier with those of the other nodes: through
// the shared Redis, or with an embedded Redis through the database.
func (n *node) wireTaskNotifier() {
	if n.redis.Kind == redisx.KindEmbedded {
		n.taskNotifier.useDatabase(n.ledger)
		return
	}
	n.taskNotifier.useInbox(n.inbox, func() []string {
		_, alive := n.reporting.Duty()
		return alive
	})
}

// handleMessages registers the handlers of messages that other nodes send to the inbox of this
// node.
func (n *node) handleMessages(notifier settledNotifier) {
	for kind, f := range n.engine.Handlers() {
		n.inbox.Handle(kind, f)
	}
	n.inbox.HandleMissed(func() {
		n.engine.FillGapsNow()
		n.taskNotifier.Receive(nil)
	})
	n.inbox.Handle(kindSettled, notifier.onMessage)
	n.inbox.Handle(kindSessionReplaced, n.onSessionReplaced)
}

func (n *node) wireServers() {
	n.limiter = n.newLimiter()
	n.proxies, n.shedder = n.trustedProxies(), n.newShedder()
	n.duelLimit = n.newDuelLimit()
	limits := n.httpLimits()
	n.sessions = ws.New(ws.Config{
		Identity: n.identity, Engine: n.engine, Lobby: n.lobby, Arenas: n.arenas, Boards: n.display, Presence: &n.presence, Visits: n.reporting.sessionEvents,
		Numbers: redissession.New(n.redis.Client, n.id, n.now), NotifyReplaced: n.sendSessionReplaced, Wheel: n.wheel, Now: n.now,
		Logger: n.log, Registry: n.registry, Origins: n.config.Origins, Connections: n.config.Limits.Connections,
		PerSecond: n.config.Limits.MessagesPerSecond, PingEvery: pingEvery,
		Limits: n.sessionLimits(limits.ArenaCodes), LoadShedder: n.shedder, DuelLimit: n.duelLimit, ClientAddress: n.proxies.Client, OnSingleAddress: n.warnOfSingleAddress(), IsTLS: n.proxies.Secure,
	})
	n.revocableCalls = httpapi.NewRevocableCalls(func(c identity.Claims) error { return n.identity.CheckActive(c, c.Subject) })
	tenantQueue := taskqueue.NewTenantQueue(taskqueue.TenantConfig{Store: n.ledger, Notifier: &n.taskSignal, Registry: n.registry})
	n.players = n.server("players", httpapi.New(httpapi.Config{
		Games: n.config.gameNames(), Tokens: n.identity, Guests: n.identity, Accounts: n.accessControl(), Arenas: n.arenas, Players: n.ledger.Public(), History: n.ledger.Public(), Boards: n.display, Behaviours: n.reporting, Tasks: tenantQueue,
		Logger: n.log, Registry: n.registry, Websocket: n.sessions, Page: web.Handler(n.config.gameNames()), Origins: n.config.Origins,
		ReadinessChecks: map[string]func(context.Context) error{
			"boards":   n.boards.Ready,
			"clock":    n.clock.Ready,
			"database": n.ledger.Ping,
			"inbox":    n.inbox.Ready,
			"redis":    func(ctx context.Context) error { return n.redis.Client.Ping(ctx).Err() },
		},
		IsDraining: n.draining.Load, IsStoreDown: unavailable, Limits: limits, ClientAddress: n.proxies.Client, IsTLS: n.proxies.Secure,
		LoadShedder: n.shedder, RevocableCalls: n.revocableCalls, Version: version,
	}))
	n.players.RegisterOnShutdown(tenantQueue.Close)
	n.operators = n.server("operations", ops.New(n.operations()))
}

// server returns the HTTP server of a listener. The name of the listener is a label in metrics
// and logs.
func (n *node) server(listener string, h http.Handler) *http.Server {
	return httpguard.NewServer(httpguard.Config{Name: listener, Handler: h, Times: httpguard.Usual, Logger: n.log, Registry: n.registry, Secure: n.proxies.Secure})
}
