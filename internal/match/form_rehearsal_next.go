//go:build rehearsal_next

package match

// The forms of a version that writes a new form, for the test of rolling upgrades.
const (
	OldestForm  = 4
	CurrentForm = 5
	NewestForm  = 5
)
