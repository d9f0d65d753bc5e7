package redisx_test

import (
	"fmt"
	"runtime"
	"testing"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// BenchmarkScript measures EVALSHA of a script with two commands, by 256 concurrent callers,
// with and without shared round trips.
func BenchmarkScript(b *testing.B) {
	script := redis.NewScript("redis.call('HSET', KEYS[1], ARGV[1], 1) return redis.call('HLEN', KEYS[1])")
	for _, kind := range []string{"single", "embedded"} {
		url := ""
		if kind == "single" {
			url = testenv.Redis(b).URL
		}
		for name, client := range clients(testenv.OpenRedis(b, url)) {
			b.Run(fmt.Sprintf("%s/%s", kind, name), func(b *testing.B) {
				b.SetParallelism(256 / runtime.GOMAXPROCS(0))
				b.RunParallel(func(pb *testing.PB) {
					for pb.Next() {
						if err := script.Run(b.Context(), client, []string{"bench"}, "f").Err(); err != nil {
							b.Error(err)
						}
					}
				})
			})
		}
	}
}
