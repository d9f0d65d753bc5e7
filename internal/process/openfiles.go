package process

import "github.com/prometheus/procfs"

// AllowedFiles returns the maximum number of open files of the process. When a program starts,
// Go raises the limit as far as possible without privileges (package os, since Go 1.19). The
// result 0 means unknown: other systems than Linux do not report it.
func AllowedFiles() uint64 {
	self, err := procfs.Self()
	if err != nil {
		return 0
	}
	limits, err := self.Limits()
	if err != nil {
		return 0
	}
	return limits.OpenFiles
}
