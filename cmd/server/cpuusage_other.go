//go:build !linux

package main

// cpuUsage is the fallback for systems other than Linux, which have no counters that the
// server can read. It always returns assumedCPUUsage.
type cpuUsage struct{}

func newCPUUsage() *cpuUsage { return new(cpuUsage) }

func (*cpuUsage) sample() float64 { return assumedCPUUsage }
