package main

import "testing"

// The usage is between 0 and 1, also for two samples without time in between.
func TestCPUUsageIsBetween0And1(t *testing.T) {
	t.Parallel()
	u := newCPUUsage()
	for range 3 {
		if v := u.sample(); !(v >= 0 && v <= 1) {
			t.Errorf("%v", v)
		}
	}
}
