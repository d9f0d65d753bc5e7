package main

import (
	"context"
	"errors"
	"os"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/redis/go-redis/v9"

	"laststand/loadtest/harness"
)

// stage is a set of nodes and the stores that they share.
type stage struct {
	stores   harness.Stores
	servers  []*harness.Server
	masters  []*redis.Client
	postgres int // process id
	ledger   *pgx.Conn
}

// game configures text questions whose solution is "right".
const game = `{banks: [load], duel: {questions: 10, countdown_ms: 0, reveal_ms: 0, bot_after_ms: 0, pair_limit_per_day: 0}, arena: {countdown_ms: 1000, reveal_ms: 0}}`

// questions is the number of questions of an arena, the highest permitted.
const questions = 100

// build starts the stores and the nodes. close ends them.
func build(ctx context.Context, o *options, store string, nodes int) (*stage, error) {
	s := new(stage)
	if err := s.start(ctx, o, store, nodes); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *stage) start(ctx context.Context, o *options, store string, nodes int) (err error) {
	if s.stores.Dir, err = os.MkdirTemp("", "scale-"); err != nil {
		return err
	}
	database, err := s.startLedger(ctx)
	if err != nil {
		return err
	}
	url, err := s.startRedis(ctx, store)
	if err != nil {
		return err
	}
	for i := range nodes {
		start := harness.Options{Binary: o.server, RedisURL: url, Database: database, Game: game}
		if i == 0 { // all nodes share the questions of the first
			start.Bank = harness.Bank(questions)
		}
		one, err := harness.Start(ctx, start)
		if err != nil {
			return err
		}
		s.servers = append(s.servers, one)
	}
	return nil
}

// startLedger starts a PostgreSQL.
func (s *stage) startLedger(ctx context.Context) (url string, err error) {
	if url, err = s.stores.Postgres(ctx); err != nil {
		return "", err
	}
	all := s.stores.Processes()
	s.postgres = all[len(all)-1]
	s.ledger, err = pgx.Connect(ctx, url)
	return url, err
}

// startRedis starts the Redis of the named kind, and connects to each of its masters.
func (s *stage) startRedis(ctx context.Context, store string) (url string, err error) {
	if store == "cluster" {
		url, err = s.stores.Cluster(ctx)
	} else {
		url, _, err = s.stores.Redis(ctx)
	}
	for _, address := range strings.Split(strings.TrimPrefix(url, "redis://"), ",") {
		s.masters = append(s.masters, redis.NewClient(&redis.Options{Addr: address, PoolSize: 1}))
	}
	return url, err
}

// close ends everything that was started, nodes before stores.
func (s *stage) close() error {
	for _, one := range s.servers {
		one.Stop()
	}
	var errs []error
	for _, m := range s.masters {
		errs = append(errs, m.Close())
	}
	if s.ledger != nil {
		errs = append(errs, s.ledger.Close(context.Background()))
	}
	s.stores.Stop()
	return errors.Join(append(errs, os.RemoveAll(s.stores.Dir))...)
}
