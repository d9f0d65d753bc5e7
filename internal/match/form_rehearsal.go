//go:build rehearsal

package match

// The forms of a version that prepares a new form, for the test of rolling upgrades.
const (
	OldestForm  = 3
	CurrentForm = 3
	NewestForm  = 4
)
