package main

import "testing"

// What the processors do is a share of them, also when nothing has happened since.
func TestUse(t *testing.T) {
	t.Parallel()
	u := newCPUUsage()
	for range 3 {
		if v := u.sample(); !(v >= 0 && v <= 1) {
			t.Errorf("%v", v)
		}
	}
}
