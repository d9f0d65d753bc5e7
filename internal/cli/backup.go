package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"path/filepath"
	"time"

	"laststand/internal/ledger"
)

type backupCmd struct {
	File string `arg:"" help:"The new file, or - for standard output."`
}

// Run writes a backup, and prints its size. A backup on standard output is first written to the
// folder of temporary files; its size goes to standard error.
func (b *backupCmd) Run(ctx context.Context, flags *Flags, output Output) error {
	if b.File != stdio {
		return copyLedger(ctx, flags, output.Stdout, b.File, "backed up", ledger.Backup)
	}
	return withTemporaryFile(func(path string) error {
		if err := copyLedger(ctx, flags, output.Stderr, path, "backed up", ledger.Backup); err != nil {
			return err
		}
		file, err := os.Open(path)
		if err != nil {
			return err
		}
		_, err = io.Copy(output.Stdout, file)
		return errors.Join(err, file.Close())
	})
}

type restoreCmd struct {
	File string `arg:"" help:"The file that server backup has written, or - for standard input."`
}

// Run restores a backup, and prints its size. It first copies standard input to the folder of
// temporary files.
func (r *restoreCmd) Run(ctx context.Context, flags *Flags, output Output) error {
	if r.File != stdio {
		return copyLedger(ctx, flags, output.Stdout, r.File, "restored", ledger.Restore)
	}
	return withTemporaryFile(func(path string) error {
		file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
		if err != nil {
			return err
		}
		_, err = io.Copy(file, os.Stdin)
		if err := errors.Join(err, file.Close()); err != nil {
			return fmt.Errorf("copy standard input: %w", err)
		}
		return copyLedger(ctx, flags, output.Stdout, path, "restored", ledger.Restore)
	})
}

// withTemporaryFile runs with the path of a file that does not exist yet, in a new folder that
// only this user may read. Afterwards the folder is gone.
func withTemporaryFile(run func(path string) error) error {
	folder, err := os.MkdirTemp("", "laststand-backup-")
	if err != nil {
		return err
	}
	return errors.Join(run(filepath.Join(folder, "backup.db")), os.RemoveAll(folder))
}

func copyLedger(
	ctx context.Context, flags *Flags, report io.Writer, file, done string, run func(context.Context, ledger.Config, string) (ledger.BackupInfo, error),
) error {
	c, err := flags.loadWithoutKeys()
	if err != nil {
		return err
	}
	info, err := run(ctx, c.Ledger(slog.New(slog.DiscardHandler)), file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(report, "%s: %d players, %d matches, tables of version %d, %.1f MB, in %v, no differences\n",
		done, info.Players, info.Matches, info.Version, float64(info.Bytes)/1e6, info.Took.Round(10*time.Millisecond))
	return err
}
