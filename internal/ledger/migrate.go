package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"io/fs"
	"log/slog"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"
)

// migrations change only tables. The content of rows is rewritten later in steps, or the
// program reads it in the old and the new form. The numbers 15, 16, 18, 20 to 22 and 24
// must stay unused, because some ledgers have applied migrations with them already.
//
//go:embed migrations/*.sql
var migrations embed.FS

// migrate migrates the tables. If several processes start together, one migrates and the
// others wait. It refuses a ledger of a newer program.
func (l *Ledger) migrate(ctx context.Context, log *slog.Logger) error {
	provider, err := l.migrationProvider(log)
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	if err != nil {
		return fmt.Errorf("read the version of the tables: %w", err)
	}
	if current > target {
		return fmt.Errorf("a newer program has migrated the database (tables have version %d, this program supports up to %d); start the newer program", current, target)
	}
	if err := l.runMigrations(ctx, provider); err != nil {
		return fmt.Errorf("migrate the tables: %w", err)
	}
	return nil
}

func (l *Ledger) migrationProvider(log *slog.Logger) (*goose.Provider, error) {
	options := []goose.ProviderOption{
		goose.WithSlog(log), goose.WithDisableGlobalRegistry(true), goose.WithTableName("migrations"),
		goose.WithGoMigrations(l.byteOrderMigration()),
	}
	if l.name == goose.DialectPostgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	files, err := fs.Sub(migrations, "migrations")
	if err != nil {
		return nil, err
	}
	return goose.NewProvider(l.name, l.writePool, files, options...)
}

// byteOrderMigration returns the migration that makes PostgreSQL compare holders by
// bytes, in a database of any locale. SQLite and leaderboards compare by bytes too. So
// indexes have the same order everywhere.
func (l *Ledger) byteOrderMigration() *goose.Migration {
	alterCollation := func(collation string) *goose.GoFunc {
		return &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			if l.name != goose.DialectPostgres {
				return nil
			}
			for _, table := range []string{"entries", "sums"} {
				_, err := tx.ExecContext(ctx, fmt.Sprintf(
					"ALTER TABLE %s ALTER COLUMN whose TYPE TEXT COLLATE %q, ALTER COLUMN holder TYPE TEXT COLLATE %[2]q", table, collation))
				if err != nil {
					return err
				}
			}
			return nil
		}}
	}
	return goose.NewGoMigration(3, alterCollation("C"), alterCollation("default"))
}

// runMigrations retries on SQLite, where another process may migrate at the same time. A
// migration is a transaction there: the second process fails, and finds the migration
// done at its next attempt.
func (l *Ledger) runMigrations(ctx context.Context, provider *goose.Provider) error {
	for attempt := 1; ; attempt++ {
		_, err := provider.Up(ctx)
		if err == nil || l.name == goose.DialectPostgres || attempt == 5 {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(time.Duration(attempt) * 50 * time.Millisecond):
		}
	}
}
