package bench_test

import (
	"context"
	"path/filepath"
)

// profiler writes profiles of a server into -profile during the reads. It returns nil
// without -profile.
func profiler(s readServer) func(ctx context.Context, name string) error {
	if *profile == "" {
		return nil
	}
	return func(ctx context.Context, name string) error {
		return s.Profile(ctx, filepath.Join(*profile, name), int(readFor.Seconds())-1)
	}
}
