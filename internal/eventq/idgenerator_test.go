package eventq

import (
	"slices"
	"testing"

	"laststand/internal/identity"
)

func TestIDsAreOfOneProcess(t *testing.T) {
	t.Parallel()
	here, there := newIDGenerator(), newIDGenerator()
	var made []string
	for range 100 {
		made = append(made, here.next())
	}
	if !slices.IsSorted(made) || len(slices.Compact(slices.Clone(made))) != len(made) || slices.Contains(made, there.next()) {
		t.Errorf("made %v", made)
	}
	if !identity.ValidID(made[0]) {
		t.Errorf("%s is no id", made[0])
	}
}
