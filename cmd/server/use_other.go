//go:build !linux

package main

// use is of the processors, where nothing is known of it.
type use struct{}

func newUse() *use { return new(use) }

func (*use) read() float64 { return unknownUse }
