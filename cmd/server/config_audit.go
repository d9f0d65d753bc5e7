package main

import "time"

// auditConfig is how long the audit log is kept.
type auditConfig struct {
	// Days that the server keeps entries of the audit log. Higher: more rows in the database.
	RetentionDays int64 `yaml:"retention_days" range:"1..36500"`
}

func (a auditConfig) keep() time.Duration { return time.Duration(a.RetentionDays) * 24 * time.Hour }
