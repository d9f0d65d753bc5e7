package testenv

import "runtime/metrics"

// Runtime is a whole number that the runtime tells of this process, by its name in
// package runtime/metrics.
func Runtime(name string) uint64 {
	seen := []metrics.Sample{{Name: name}}
	metrics.Read(seen)
	return seen[0].Value.Uint64()
}
