package main

import (
	"context"

	"laststand/loadtest/harness"
)

// profile takes a server's profiles of the next seconds, if -profile is set. Its caller
// calls it before the match starts, and calls wait afterwards.
func profile(ctx context.Context, s *harness.Server, o options) (wait func() error, err error) {
	if o.profile == "" || s.Ops == "" {
		return func() error { return nil }, nil
	}
	token, err := s.Admin(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 1)
	go func() { done <- s.Profile(ctx, token, o.profile, profiled) }()
	return func() error { return <-done }, nil
}

// profiled is the number of seconds to profile: fewer than a run takes.
const profiled = 4
