package redisx

import "testing"

// BenchmarkClockNow measures the cost of the time stamp of a frame.
func BenchmarkClockNow(b *testing.B) {
	clock, err := newClock(b.Context(), (&fakeReference{}).read, ClockConfig{})
	if err != nil {
		b.Fatal(err)
	}
	b.Run("one", func(b *testing.B) {
		for b.Loop() {
			clock.Now()
		}
	})
	b.Run("parallel", func(b *testing.B) {
		b.RunParallel(func(pb *testing.PB) {
			for pb.Next() {
				clock.Now()
			}
		})
	})
}
