package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"laststand/internal/loop"
)

// migrationFiles are the migrations. The number of a file is the version of the tables
// after it. The statements may have the dialect's fragments in braces. A migration only
// changes tables, so that a program of the version before can still use the ledger. Rows
// are rewritten later in steps, or the program reads them in the old and the new form.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// firstVersion is the version of the tables of the first release. Unreleased programs have
// used smaller ones.
const firstVersion = 200

// migrate migrates the tables. If several processes start together, one migrates and the
// others wait. It refuses a ledger of a newer program, and one of an unreleased program.
func (db *database) migrate(ctx context.Context) error {
	provider, err := db.migrationProvider()
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the version of the tables: %w", err)
	case current > target:
		return fmt.Errorf("a newer program has migrated the database (tables have version %d, this program supports up to %d); start the newer program", current, target)
	case current > 0 && current < firstVersion:
		return fmt.Errorf("an unreleased program has made the tables (version %d), and they cannot be migrated; name an empty database in --database, or another folder with --data", current)
	}
	if err := db.runMigrations(ctx, provider); err != nil {
		return fmt.Errorf("migrate the tables: %w", err)
	}
	return nil
}

func (db *database) migrationProvider() (*goose.Provider, error) {
	migrations, err := db.migrations()
	if err != nil {
		return nil, err
	}
	options := []goose.ProviderOption{
		goose.WithSlog(db.log), goose.WithDisableGlobalRegistry(true), goose.WithTableName("migrations"), goose.WithGoMigrations(migrations...),
	}
	if db.name == goose.DialectPostgres {
		locker, err := lock.NewPostgresSessionLocker(lock.WithLockTimeout(1, 300))
		if err != nil {
			return nil, err
		}
		options = append(options, goose.WithSessionLocker(locker))
	}
	return goose.NewProvider(db.name, db.writePool, nil, options...)
}

// migrations returns the migrations in the dialect of the database.
func (d *dialect) migrations() (migrations []*goose.Migration, err error) {
	files, err := migrationFiles.ReadDir("migrations")
	for _, file := range files {
		version, err := goose.NumericComponent(file.Name())
		if err != nil {
			return nil, err
		}
		text, err := migrationFiles.ReadFile("migrations/" + file.Name())
		if err != nil {
			return nil, err
		}
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.expandSQL(string(text)))
			return err
		}}, nil))
	}
	return migrations, err
}

// runMigrations retries on SQLite, where another process may migrate at the same time. A
// migration is a transaction there: the second process fails, and finds the migration
// done at its next attempt.
func (db *database) runMigrations(ctx context.Context, provider *goose.Provider) error {
	for attempt := 1; ; attempt++ {
		_, err := provider.Up(ctx)
		if err == nil || db.name == goose.DialectPostgres || attempt == 5 || !loop.Sleep(ctx, time.Duration(attempt)*50*time.Millisecond) {
			return err
		}
	}
}
