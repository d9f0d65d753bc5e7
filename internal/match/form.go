//go:build !rehearsal && !rehearsal_next

package match

// CurrentForm is the version of the stored plan and state that this program writes. A program reads
// the forms from OldestForm to NewestForm, and takes no step of other matches, because it would
// misread them. Nodes of two versions play together: a version that changes the form reads
// the new one and writes the former one. The version after it writes the new one.
const (
	OldestForm  = 4
	CurrentForm = 4
	NewestForm  = 4
)
