package redismatch

import "github.com/redis/go-redis/v9"

// Store is everything about matches that is in Redis, by what it stores. Its parts are
// safe for concurrent use. Every write is idempotent, because the client library
// repeats commands after an ambiguous error.
type Store struct {
	*Matches
	*Answers
	*Places
	*Index
	*Results
	*Codes
	*Seen
}

// connection is a client and what scripts run on. Scripts may share pipelines.
type connection struct {
	client  redis.UniversalClient
	scripts redis.Scripter
}

// Option configures a Store.
type Option func(*Store)

// ConfirmByReplica makes the store announce a first right answer only after a
// replica has it, while replicas returns true. If no replica confirms in time, the answer is
// announced anyway and unconfirmed is called. Without this option the store
// does not wait for replicas.
func ConfirmByReplica(replicas func() bool, unconfirmed func()) Option {
	return func(s *Store) { s.hasReplicas, s.onUnconfirmed = replicas, unconfirmed }
}

// New makes a store. Scripts run on scripts, which may share pipelines between
// callers. Everything else runs on client. Both must reach the same Redis.
func New(client redis.UniversalClient, scripts redis.Scripter, options ...Option) *Store {
	c := connection{client, scripts}
	matches := &Matches{connection: c}
	s := &Store{
		Matches: matches, Answers: newAnswers(c), Places: &Places{c}, Index: &Index{c}, Results: &Results{c, matches},
		Codes: &Codes{client}, Seen: &Seen{client},
	}
	for _, option := range options {
		option(s)
	}
	return s
}
