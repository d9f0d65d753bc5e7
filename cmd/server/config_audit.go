package main

import "time"

// auditConfig configures the audit log of the admin API.
type auditConfig struct {
	// Number of days that the server stores an entry of the audit log before it deletes the entry. Higher: more rows in the database.
	RetentionDays int64 `yaml:"retention_days" range:"1..36500"`
}

// retention returns RetentionDays as a duration.
func (a auditConfig) retention() time.Duration {
	return time.Duration(a.RetentionDays) * 24 * time.Hour
}
