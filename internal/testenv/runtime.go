package testenv

import "runtime/metrics"

// Runtime returns a runtime metric of this process as a whole number. The name is one of
// package runtime/metrics.
func Runtime(name string) uint64 {
	seen := []metrics.Sample{{Name: name}}
	metrics.Read(seen)
	return seen[0].Value.Uint64()
}
