package ledger

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"hash/maphash"
	"iter"
	"strings"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
)

// table is a table of the ledger, with the columns that are not computed.
type table struct {
	name    string
	columns []string
}

// goose creates migrations, so that its rows are not copied.
const selectTables = `
SELECT t.name, c.name FROM sqlite_master t, pragma_table_xinfo(t.name) c
WHERE t.type = 'table' AND t.name <> 'migrations' AND t.name NOT LIKE 'sqlite%' AND c.hidden = 0 ORDER BY t.rowid, c.cid`

// listTables returns the tables of a SQLite ledger. A table comes after those that it refers to.
func listTables(ctx context.Context, tx *transaction) (tables []table) {
	var name, column string
	tx.each(ctx, eachRow(func() {
		if len(tables) == 0 || tables[len(tables)-1].name != name {
			tables = append(tables, table{name: name})
		}
		last := &tables[len(tables)-1]
		last.columns = append(last.columns, column)
	}, &name, &column), selectTables)
	return tables
}

// copyToFolder copies a ledger to a new SQLite ledger in a folder.
func copyToFolder(ctx context.Context, from *database, dir string) (err error) {
	to, err := openUnmigrated(ctx, Config{Dir: dir, Logger: from.log})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, to.close()) }()
	return copyLedger(ctx, from, to, func(*transaction) {})
}

// copyLedger creates the tables of a ledger in another database, and copies all rows in one
// transaction, as they were at one moment. One of the two is SQLite. At the end of the
// transaction it calls finish.
func copyLedger(ctx context.Context, from, to *database, finish func(to *transaction)) error {
	return from.inSnapshot(ctx, func(source *transaction) error {
		version, err := tableVersion(ctx, source)
		if err != nil {
			return err
		}
		if err := to.migrateTo(ctx, version); err != nil {
			return err
		}
		conn, err := to.writePool.Conn(ctx)
		if err != nil {
			return err
		}
		defer conn.Close()
		begun, err := conn.BeginTx(ctx, to.txOptions)
		if err != nil {
			return err
		}
		defer func() { _ = begun.Rollback() }() // does nothing after a commit
		target := to.in(begun)
		sqlite, insert := target, insertEach(target)
		if to.name == goose.DialectPostgres {
			target.exec(ctx, to.allowIdle)
			sqlite, insert = source, copyRows(conn)
		}
		tables := listTables(ctx, sqlite)
		if err := cmp.Or(source.err, target.err); err != nil {
			return err
		}
		if err := copyTables(ctx, tables, source, target, insert); err != nil {
			return err
		}
		if finish(target); target.err != nil {
			return target.err
		}
		return begun.Commit()
	})
}

// rowSource iterates over the rows of a table. It stops after an error.
type rowSource = iter.Seq2[[]any, error]

// insertFunc inserts rows into a table.
type insertFunc func(ctx context.Context, t table, rows rowSource) error

// copyTables copies the tables of one ledger to another with the same version. Then it compares
// all rows. The tables of the target have no rows that the ledger itself does not create.
func copyTables(ctx context.Context, tables []table, from, to *transaction, insert insertFunc) error {
	for _, t := range tables {
		var read, written digest
		to.exec(ctx, "DELETE FROM "+t.name)
		err := to.err
		if err == nil {
			err = insert(ctx, t, read.adding(t.rows(ctx, from)))
		}
		if err == nil {
			written, err = t.digest(ctx, to)
		}
		if err == nil && read != written {
			err = fmt.Errorf("%d of %d rows arrived, or some differ", written.rows, read.rows)
		}
		if err != nil {
			return fmt.Errorf("copy the table %s: %w", t.name, err)
		}
	}
	return nil
}

// rows reads the rows of a table, in any order.
func (t table) rows(ctx context.Context, in *transaction) rowSource {
	return queryRows(ctx, in, func(row *[]any) []any {
		*row = make([]any, len(t.columns))
		pointers := make([]any, len(t.columns))
		for i := range pointers {
			pointers[i] = &(*row)[i]
		}
		return pointers
	}, "SELECT "+strings.Join(t.columns, ", ")+" FROM "+t.name)
}

// insertEach inserts rows one by one. The connection prepares the statement once.
func insertEach(tx *transaction) insertFunc {
	return func(ctx context.Context, t table, rows rowSource) error {
		text := fmt.Sprintf("INSERT INTO %s (%s) %s", t.name, strings.Join(t.columns, ", "), valueRows([][]any{make([]any, len(t.columns))}))
		for row, err := range rows {
			if err == nil {
				_, err = tx.ExecContext(ctx, text, row...)
			}
			if err != nil {
				return err
			}
		}
		return nil
	}
}

// copyRows inserts rows with COPY, on the connection of a transaction of PostgreSQL.
func copyRows(conn *sql.Conn) insertFunc {
	return func(ctx context.Context, t table, rows rowSource) error {
		next, stop := iter.Pull2(rows)
		defer stop()
		source := pgx.CopyFromFunc(func() ([]any, error) {
			row, err, _ := next()
			return row, err
		})
		return conn.Raw(func(driverConn any) error {
			_, err := driverConn.(*stdlib.Conn).Conn().CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, source)
			return err
		})
	}
}

// digest summarizes rows in any order. Equal rows have equal digests in one process.
type digest struct{ rows, sum uint64 }

var digestSeed = maphash.MakeSeed()

func (d *digest) add(row []any) error {
	var h maphash.Hash
	h.SetSeed(digestSeed)
	for _, value := range row {
		switch v := value.(type) {
		case nil, int64, string:
		case []byte:
			value = string(v)
		default:
			return fmt.Errorf("a value is a %T; a ledger has only texts, numbers and bytes", value)
		}
		maphash.WriteComparable(&h, value)
	}
	d.rows, d.sum = d.rows+1, d.sum+h.Sum64()
	return nil
}

// adding passes rows on, and adds them to the digest.
func (d *digest) adding(rows rowSource) rowSource {
	return func(yield func([]any, error) bool) {
		for row, err := range rows {
			if err == nil {
				err = d.add(row)
			}
			if !yield(row, err) || err != nil {
				return
			}
		}
	}
}

// digest returns the digest of the rows of a table.
func (t table) digest(ctx context.Context, in *transaction) (d digest, err error) {
	for _, err := range d.adding(t.rows(ctx, in)) {
		if err != nil {
			return d, err
		}
	}
	return d, nil
}
