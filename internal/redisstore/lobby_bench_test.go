package redisstore

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/oklog/ulid/v2"
	"github.com/redis/go-redis/v9"

	"laststand/internal/lobby"
	"laststand/internal/testenv"
)

// BenchmarkListNearest measures the cost of a search for Redis, by the number
// of listed tickets per side.
func BenchmarkListNearest(b *testing.B) {
	options, err := redis.ParseURL(testenv.Redis(b).URL)
	if err != nil {
		b.Fatal(err)
	}
	client := redis.NewClient(options)
	defer client.Close()
	test := &lobbyTest{T: &testing.T{}, Lobby: NewLobby(client), game: "game." + ulid.Make().String()}
	own := test.newTicket("own", 1500)
	for i := range 200 {
		if _, err := test.AddTicket(b.Context(), test.newTicket(fmt.Sprint("p_", i), float64(1400+i)), lobby.Activity{}, epoch); err != nil {
			b.Fatal(err)
		}
	}
	if _, err := test.AddTicket(b.Context(), own, lobby.Activity{}, epoch); err != nil {
		b.Fatal(err)
	}
	for _, count := range []int{4, 32} {
		b.Run(fmt.Sprint(count), func(b *testing.B) {
			before := redisCPUSeconds(b.Context(), client)
			for b.Loop() {
				if listing, err := test.ListNearest(b.Context(), own, lobby.Slice{Count: count}, epoch); err != nil || len(listing.Nearest) != 2*count-1 {
					b.Fatal(len(listing.Nearest), err)
				}
			}
			b.ReportMetric((redisCPUSeconds(b.Context(), client)-before)*1e6/float64(b.N), "redis-us/op")
		})
	}
}

// redisCPUSeconds returns the CPU time of Redis so far, in seconds.
func redisCPUSeconds(ctx context.Context, client *redis.Client) (seconds float64) {
	for line := range strings.Lines(client.Info(ctx, "cpu").Val()) {
		var partSeconds float64
		for _, mode := range []string{"user", "sys"} {
			if n, _ := fmt.Sscanf(line, "used_cpu_"+mode+":%f", &partSeconds); n == 1 {
				seconds += partSeconds
			}
		}
	}
	return seconds
}
