//go:build rehearsal

package match

// The forms of a version that prepares a new form, for the test of rolling upgrades.
const (
	OldestForm  = 4
	CurrentForm = 4
	NewestForm  = 5
)
