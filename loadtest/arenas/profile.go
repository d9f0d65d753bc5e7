package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"

	"laststand/loadtest/rig"
)

// profile writes what a server does in the seconds that follow to a file, as go
// tool pprof reads it: `profile` is processor time, `allocs` what is allocated.
// Its caller calls it while the match is played, and waits for wait.
func profile(ctx context.Context, s *rig.Server, o options) (wait func() error, err error) {
	if o.profile == "" || s.Ops == "" {
		return func() error { return nil }, nil
	}
	token, err := s.Admin(ctx)
	if err != nil {
		return nil, err
	}
	done := make(chan error, 2)
	for _, kind := range []string{"profile", "allocs"} {
		go func() {
			done <- fetch(ctx, fmt.Sprintf("%s/debug/pprof/%s?seconds=%d", s.Ops, kind, profiled), token, o.profile+"."+kind)
		}()
	}
	return func() error { return errors.Join(<-done, <-done) }, nil
}

// profiled is for how many seconds: fewer than a run takes.
const profiled = 4

func fetch(ctx context.Context, url, token, file string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	if answer.StatusCode != http.StatusOK {
		return fmt.Errorf("a profile was answered with %s", answer.Status)
	}
	out, err := os.Create(file)
	if err != nil {
		return err
	}
	_, err = io.Copy(out, answer.Body)
	return errors.Join(err, out.Close())
}
