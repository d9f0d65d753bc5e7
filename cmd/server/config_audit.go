package main

import "time"

// auditing is how long acts of operators are kept.
type auditing struct {
	KeepDays int64 `yaml:"keep_days"`
}

// maxKeepDays is some hundred years.
const maxKeepDays = 36_500

func (a auditing) validate(f *faults) { f.between("audit.keep_days", a.KeepDays, 1, maxKeepDays) }

func (a auditing) keep() time.Duration { return time.Duration(a.KeepDays) * 24 * time.Hour }
