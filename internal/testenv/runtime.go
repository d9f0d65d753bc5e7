package testenv

import "runtime/metrics"

// RuntimeMetric returns a runtime metric of this process as a whole number. The name is one of
// package runtime/metrics.
func RuntimeMetric(name string) uint64 {
	samples := []metrics.Sample{{Name: name}}
	metrics.Read(samples)
	return samples[0].Value.Uint64()
}
