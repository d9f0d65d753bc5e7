package redismatch

import (
	"fmt"

	"github.com/redis/go-redis/v9"
)

// Store is everything about matches that is in Redis, by what it stores. Its parts are
// safe for concurrent use. Every write is idempotent, because the client library
// repeats commands after an ambiguous error.
type Store struct {
	*Matches
	*Answers
	*Places
	*Index
	*Results
	*Unsaved
	*Codes
	*Seen
}

// New makes a store. Scripts run on scripts, which may share pipelines between
// callers. Everything else runs on client. Both must reach the same Redis.
func New(client redis.UniversalClient, scripts redis.Scripter) *Store {
	c := connection{client, scripts}
	matches := &Matches{connection: c}
	return &Store{
		Matches: matches, Answers: newAnswers(c), Places: &Places{c}, Index: &Index{c}, Results: &Results{c, matches},
		Unsaved: &Unsaved{c}, Codes: &Codes{client}, Seen: &Seen{client},
	}
}

// wrap names the operation that has failed, and its match; "" for several. It returns nil if
// err is nil.
func wrap(operation, match string, err error) error {
	if err == nil {
		return nil
	}
	if match != "" {
		operation += " " + match
	}
	return fmt.Errorf("redismatch: %s: %w", operation, err)
}
