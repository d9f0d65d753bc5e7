package boards

import (
	"context"
	"path/filepath"
	"testing"

	"laststand/loadtest/harness"
)

// profiler writes profiles of a server into -profile during the reads. It returns nil
// without -profile.
func profiler(b *testing.B, s *harness.Server) func(ctx context.Context, name string) error {
	if *profile == "" {
		return nil
	}
	token, err := s.Admin(b.Context())
	if err != nil {
		b.Fatal(err)
	}
	return func(ctx context.Context, name string) error {
		return s.Profile(ctx, token, filepath.Join(*profile, name), int(readFor.Seconds())-1)
	}
}
