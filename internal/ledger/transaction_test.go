package ledger

import (
	"errors"
	"strings"
	"testing"

	"laststand/internal/testenv"
)

// After its first error a transaction runs no statement. It ends with that error, whatever its
// function returns, and changes nothing. It notifies no topic.
func TestATransactionEndsWithItsFirstError(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		l := openConfig(t, Config{URL: db.URL, Dir: db.Dir, NotifyTopic: func(topic string) { t.Errorf("topic %q was notified", topic) }})
		banks := func() int64 {
			return testenv.Need(getValue[int64](t.Context(), l.database, "SELECT COUNT(*) FROM banks"))(t)
		}
		row := [][]any{{"later"}}
		for name, fail := range map[string]func(tx *transaction){
			"exec": func(tx *transaction) { tx.exec(t.Context(), "INSERT INTO missing VALUES (1)") },
			"get":  func(tx *transaction) { tx.get(t.Context(), into(new(int)), "SELECT 1 FROM missing") },
			"each": func(tx *transaction) { tx.each(t.Context(), eachRow(func() {}, new(int)), "SELECT 1 FROM missing") },
			"bulk": func(tx *transaction) { tx.bulk(t.Context(), insertRows("missing", "name"), row, nil) },
		} {
			err := l.inTx(t.Context(), func(tx *transaction) error {
				tx.exec(t.Context(), `INSERT INTO banks (name) VALUES ($1) ON CONFLICT DO NOTHING`, "before")
				fail(tx)
				tx.topics = append(tx.topics, "topic")
				n := tx.exec(t.Context(), `INSERT INTO banks (name) VALUES ($1) ON CONFLICT DO NOTHING`, "after")
				found := tx.get(t.Context(), into(new(int)), "SELECT 1")
				tx.each(t.Context(), eachRow(func() { t.Errorf("%s: a query ran after the error", name) }, new(int)), "SELECT 1")
				tx.bulk(t.Context(), insertRows("banks", "name"), row, nil)
				if n != 0 || found {
					t.Errorf("%s: a statement ran after the error: %d rows, %v", name, n, found)
				}
				return errors.New("a consequence of the error")
			})
			if err == nil || !strings.Contains(err.Error(), "missing") {
				t.Errorf("%s: the transaction ended with %v, want its first error", name, err)
			}
			if n := banks(); n != 0 {
				t.Errorf("%s: %d banks after the error, want none", name, n)
			}
		}
	})
}
