package harness

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Profile profiles the server for the given number of seconds from now on, and then
// returns. It writes FILE.profile (processor time) and FILE.allocs (allocations) for go
// tool pprof; token is an admin's.
func (s *Server) Profile(ctx context.Context, token, file string, seconds int) error {
	kinds := []string{"profile", "allocs"}
	done := make(chan error, len(kinds))
	for _, kind := range kinds {
		go func() { done <- s.keep(ctx, token, fmt.Sprintf("%s?seconds=%d", kind, seconds), file+"."+kind) }()
	}
	return errors.Join(<-done, <-done)
}

func (s *Server) keep(ctx context.Context, token, kind, file string) error {
	profile, err := s.pprof(ctx, token, kind)
	if err != nil {
		return err
	}
	return os.WriteFile(file, profile, 0o600)
}

// Heap runs the garbage collector and returns the profile of live objects, as text.
func (s *Server) Heap(ctx context.Context, token string) ([]byte, error) {
	return s.pprof(ctx, token, "heap?gc=1&debug=1")
}

// pprof requests a profile by its name and parameters.
func (s *Server) pprof(ctx context.Context, token, kind string) ([]byte, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, s.Ops+"/debug/pprof/"+kind, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a profile was answered with %s", answer.Status)
	}
	profile, cut := io.ReadAll(answer.Body)
	return profile, errors.Join(err, cut, answer.Body.Close())
}
