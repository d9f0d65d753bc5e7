package trial

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Cluster is the URL of a Redis cluster of two masters, slots 0 to 8191 and
// 8192 to 16383, that the test binary shares. The first call starts it, within
// some three seconds. The test is skipped where redis-server is not installed
// and not required.
func Cluster(t testing.TB) string {
	t.Helper()
	if !has(t, "redis-server", redisServer()) {
		t.Skip("redis-server is not installed")
	}
	url, err := cluster()
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return url
}

var cluster = sync.OnceValues(func() (string, error) {
	var nodes []*Server
	for _, slots := range [][2]int{{0, 8191}, {8192, 16383}} {
		node, err := startNode(slots)
		if err != nil {
			return "", err
		}
		nodes = append(nodes, node)
	}
	if err := meet(nodes); err != nil {
		return "", err
	}
	return fmt.Sprintf("redis://%s,%s", nodes[0].Addr, nodes[1].Addr), nil
})

// startNode starts a master that owns the slots and stops with the binary.
func startNode(slots [2]int) (*Server, error) {
	dir, err := sharedDir()
	if err != nil {
		return nil, err
	}
	node, err := startOnFreePort(func(port int) (*Server, error) {
		bus, err := freePort()
		if err != nil {
			return nil, err
		}
		s, err := startRedis(dir, port,
			"--cluster-enabled", "yes",
			"--cluster-port", strconv.Itoa(bus),
			"--cluster-config-file", fmt.Sprintf("nodes-%d.conf", port))
		s.bus = bus
		return s, err
	})
	if err != nil {
		return nil, err
	}
	atEnd(func() error { return node.child.stop(syscall.SIGKILL) })
	c := redis.NewClient(&redis.Options{Addr: node.Addr})
	defer c.Close()
	return node, c.ClusterAddSlotsRange(context.Background(), slots[0], slots[1]).Err()
}

// meet introduces the nodes and waits until both know every slot's owner.
func meet(nodes []*Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	first := redis.NewClient(&redis.Options{Addr: nodes[0].Addr})
	defer first.Close()
	second := redis.NewClient(&redis.Options{Addr: nodes[1].Addr})
	defer second.Close()

	if err := first.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", 1).Err(); err != nil {
		return err
	}
	if err := second.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", 2).Err(); err != nil {
		return err
	}
	host, port, err := net.SplitHostPort(nodes[1].Addr)
	if err != nil {
		return err
	}
	bus := nodes[1].bus
	if err := first.Do(ctx, "CLUSTER", "MEET", host, port, bus).Err(); err != nil {
		return err
	}
	return errors.Join(awaitWhole(ctx, first), awaitWhole(ctx, second))
}

func awaitWhole(ctx context.Context, c *redis.Client) error {
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		info, err := c.ClusterInfo(ctx).Result()
		if err != nil {
			return err
		}
		if whole(info) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s", ctx.Err(), info)
		case <-again.C:
		}
	}
}

// whole reports whether a node knows an owner of every slot that it can reach.
func whole(info string) bool {
	return strings.Contains(info, "cluster_state:ok") && strings.Contains(info, "cluster_slots_ok:16384")
}
