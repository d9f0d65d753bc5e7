package main

import (
	"context"

	"laststand/loadtest/harness"
)

// profile has a server's profiles taken, of the seconds that follow, as -profile
// says. Its caller calls it before the match is played, and waits for wait.
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

// profiled is for how many seconds: fewer than a run takes.
const profiled = 4
