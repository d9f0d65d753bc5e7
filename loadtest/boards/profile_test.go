package boards

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"

	"laststand/loadtest/rig"
)

// profiler takes a processor profile of a server into -profile while it is read,
// and what it has allocated meanwhile; nil without -profile.
func profiler(b *testing.B, s *rig.Server) func(ctx context.Context, name string) error {
	if *profile == "" {
		return nil
	}
	token, err := s.Admin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, name string) error {
		seconds := int(readFor.Seconds()) - 1
		return errors.Join(
			fetch(ctx, fmt.Sprintf("%s/debug/pprof/profile?seconds=%d", s.Ops, seconds), token, name+".cpu"),
			fetch(ctx, s.Ops+"/debug/pprof/allocs", token, name+".allocs"), // since the start
		)
	}
}

// fetch keeps a profile as a file of -profile.
func fetch(ctx context.Context, url, token, name string) error {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, http.NoBody)
	if err != nil {
		return err
	}
	r.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		return err
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err == nil && answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("%s: %s: %s", url, answer.Status, raw)
	}
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(*profile, name), raw, 0o600)
}
