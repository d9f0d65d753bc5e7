package bench_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/testenv"
)

// bareReads are the scripts with the least work for each kind of read. KEYS are the ranking
// and the parts; ARGV is the player's id.
var bareReads = map[string]*redis.Script{
	"rank": redis.NewScript(`
local packed = redis.call('HGET', KEYS[2], ARGV[1])
return { packed, redis.call('ZRANK', KEYS[1], string.sub(packed, 1, 16) .. ':' .. ARGV[1]), redis.call('ZCARD', KEYS[1]) }`),
	"top100": redis.NewScript(`
local found, ids = redis.call('ZRANGE', KEYS[1], 0, 99, 'WITHSCORES'), {}
for i = 1, #found, 2 do ids[#ids + 1] = string.sub(found[i], 18) end
return { found, redis.call('HMGET', KEYS[2], unpack(ids)) }`),
	"around": redis.NewScript(`
local packed, ids = redis.call('HGET', KEYS[2], ARGV[1]), {}
local first = math.max(0, redis.call('ZRANK', KEYS[1], string.sub(packed, 1, 16) .. ':' .. ARGV[1]) - 5)
local found = redis.call('ZRANGE', KEYS[1], first, first + 9, 'WITHSCORES')
for i = 1, #found, 2 do ids[#ids + 1] = string.sub(found[i], 18) end
return { found, redis.call('HMGET', KEYS[2], unpack(ids)) }`),
}

// readFloors measures one Redis command, and then the scripts of each kind of read. They
// run through plain go-redis, and through a bare HTTP server in its own process. That
// server answers with as many bytes, without names, limits or JSON.
func readFloors(b *testing.B, s readServer, bytes map[string]int) {
	rdb := redis.NewClient(&redis.Options{Addr: s.redis.Addr, PoolSize: 128})
	defer rdb.Close()
	keys, err := allKeys(b.Context(), rdb)
	if err != nil {
		b.Fatal(err)
	}
	kinds := []kind{{name: "zrevrank", read: func(ctx context.Context, _ *http.Client) error {
		return rdb.ZRevRank(ctx, keys[0], fmt.Sprintf("%016d:%s", 2, filled(0))).Err()
	}}}
	for _, name := range []string{"rank", "top100", "around"} {
		kinds = append(kinds, kind{name: "redis-" + name, read: func(ctx context.Context, _ *http.Client) error {
			return bareReads[name].Run(ctx, rdb, keys, anyone()).Err()
		}})
	}
	reads(b, kinds, servers(s))

	floor, err := testenv.StartFloor("-floor-redis", s.redis.Addr)
	if err != nil {
		b.Fatal(err)
	}
	defer func() { _ = floor.Kill() }()
	kinds = nil
	for _, name := range []string{"rank", "top100", "around"} {
		kinds = append(kinds, kind{name: "bare-" + name, read: reading(func() string {
			return fmt.Sprintf("%s/%s/%s?bytes=%d", floor.URL, name, anyone(), bytes[name])
		})})
	}
	reads(b, kinds, func() (map[string]time.Duration, error) {
		all, err := servers(s)()
		if err == nil {
			all["server"], err = testenv.CPUTime(floor.PID())
		}
		return all, err
	})
}

// allKeys returns the keys of the ranking and the parts of the all-time board.
func allKeys(ctx context.Context, rdb *redis.Client) ([]string, error) {
	found, err := rdb.Keys(ctx, "{b:demo}:*:player:all:by:*").Result()
	if err != nil || len(found) != 1 {
		return nil, fmt.Errorf("the board in Redis: %v %w", found, err)
	}
	board, _, _ := strings.Cut(found[0], ":by:")
	return []string{found[0], board + ":parts"}, nil
}

// length returns the length of an answer.
func length(b *testing.B, url string) int {
	r, err := http.NewRequestWithContext(b.Context(), http.MethodGet, url, http.NoBody)
	if err != nil {
		b.Fatal(err)
	}
	answer, err := http.DefaultClient.Do(r)
	if err != nil {
		b.Fatal(err)
	}
	defer answer.Body.Close()
	raw, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		b.Fatalf("%s: %s %v", url, answer.Status, err)
	}
	return len(raw)
}

// serveReadFloor runs the bare server: /KIND/ID?bytes=N. It is killed.
func serveReadFloor(address string) error {
	rdb := redis.NewClient(&redis.Options{Addr: address})
	defer rdb.Close()
	keys, err := allKeys(context.Background(), rdb)
	if err != nil {
		return err
	}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /{kind}/{id}", func(w http.ResponseWriter, r *http.Request) {
		n, err := strconv.Atoi(r.FormValue("bytes"))
		if err == nil {
			err = bareReads[r.PathValue("kind")].Run(r.Context(), rdb, keys, r.PathValue("id")).Err()
		}
		if err != nil {
			http.Error(w, err.Error(), http.StatusInternalServerError)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_, _ = w.Write(bytes.Repeat([]byte("x"), n))
	})
	return testenv.ServeFloor(context.Background(), mux)
}
