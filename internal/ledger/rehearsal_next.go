//go:build rehearsal_next

package ledger

// The migration of a next release, for the test of rolling upgrades. Programs of this release
// insert rows without the new column.
func init() {
	extraMigrations = map[int64]string{
		300: "ALTER TABLE seats ADD COLUMN rehearsal BIGINT NOT NULL DEFAULT 7;\nCREATE TABLE rehearsals (id BIGINT PRIMARY KEY);\nALTER TABLE matches ADD COLUMN rehearsal TEXT",
	}
}
