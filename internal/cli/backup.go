package cli

import (
	"context"
	"fmt"
	"log/slog"
	"time"

	"laststand/internal/ledger"
)

type backupCmd struct {
	File string `arg:"" help:"The new file."`
}

// Run writes a backup, and prints its size.
func (b *backupCmd) Run(ctx context.Context, flags *Flags, output Output) error {
	return copyLedger(ctx, flags, output, b.File, "backed up", ledger.Backup)
}

type restoreCmd struct {
	File string `arg:"" help:"The file that server backup has written."`
}

// Run restores a backup, and prints its size.
func (r *restoreCmd) Run(ctx context.Context, flags *Flags, output Output) error {
	return copyLedger(ctx, flags, output, r.File, "restored", ledger.Restore)
}

func copyLedger(
	ctx context.Context, flags *Flags, output Output, file, done string, run func(context.Context, ledger.Config, string) (ledger.BackupInfo, error),
) error {
	c, err := flags.read()
	if err == nil {
		err = c.ValidateWithoutKeys()
	}
	if err != nil {
		return err
	}
	info, err := run(ctx, c.Ledger(slog.New(slog.DiscardHandler)), file)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(output.Stdout, "%s: %d players, %d matches, tables of version %d, %.1f MB, in %v, no differences\n",
		done, info.Players, info.Matches, info.Version, float64(info.Bytes)/1e6, info.Took.Round(10*time.Millisecond))
	return err
}
