package ledger

import (
	"context"
	"database/sql"
	"embed"
	"fmt"
	"time"

	"github.com/pressly/goose/v3"
	"github.com/pressly/goose/v3/lock"

	"laststand/internal/timer"
)

// migrationFiles are the migrations. The number of a file is the version of the tables
// after it. The migrations of a release are numbered from a multiple of 100, which is the
// number of the release. The statements may have the dialect's fragments in braces. A
// migration only changes tables, so that programs of the release before can still use the
// ledger; a test refuses others. Rows are rewritten later in steps, or the program reads them
// in the old and the new form.
//
//go:embed migrations/*.sql
var migrationFiles embed.FS

// extraMigrations are migrations that the test of rolling upgrades adds.
var extraMigrations map[int64]string

// firstVersion is the version of the tables of the first release. Unreleased programs have
// used smaller ones.
const firstVersion = 200

// releaseOf returns the number of the release with a version of the tables.
func releaseOf(version int64) int64 { return version / 100 }

// migrate migrates the tables. If several processes start together, one migrates and the
// others wait. Tables of the next release stay as they are, because this program can use them. It
// refuses a ledger of a release after that, and one of an unreleased program.
func (db *database) migrate(ctx context.Context) error {
	provider, err := db.migrationProvider()
	if err != nil {
		return err
	}
	current, target, err := provider.GetVersions(ctx)
	switch {
	case err != nil:
		return fmt.Errorf("read the version of the tables: %w", err)
	case releaseOf(current) > releaseOf(target)+1:
		return fmt.Errorf("a newer program has migrated the database (tables have version %d, this program supports up to %d); start that program, or one of the release before it", current, 100*releaseOf(target)+199)
	case current > target:
		db.log.Warn("a newer program has migrated the database; this program runs beside it", "tables", current, "migrations", target)
		return nil
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
	add := func(version int64, text string) {
		migrations = append(migrations, goose.NewGoMigration(version, &goose.GoFunc{RunTx: func(ctx context.Context, tx *sql.Tx) error {
			_, err := tx.ExecContext(ctx, d.expandSQL(text))
			return err
		}}, nil))
	}
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
		add(version, string(text))
	}
	for version, text := range extraMigrations {
		add(version, text)
	}
	return migrations, err
}

// runMigrations tries up to five times. A migration is a transaction: after an error it is not
// done. On SQLite another process can migrate at the same time. On PostgreSQL a migration and
// a commit of another node can deadlock (SQLSTATE 40P01), and the database may end either.
func (db *database) runMigrations(ctx context.Context, provider *goose.Provider) error {
	for attempt := 1; ; attempt++ {
		_, err := provider.Up(ctx)
		if err == nil || attempt == 5 || !timer.Sleep(ctx, time.Duration(attempt)*50*time.Millisecond) {
			return err
		}
	}
}
