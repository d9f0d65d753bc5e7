package testenv

import (
	"context"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
)

// Replica starts a redis-server for this test alone that replicates another server. It
// waits until the replica has all data.
func Replica(t testing.TB, master *Server) *Server {
	t.Helper()
	host, port, _ := strings.Cut(master.Addr, ":")
	s := ownRedis(t, "--replicaof", host, port)
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	s.must(follows(ctx, s, master))
	return s
}

// replicate makes a node of a cluster the replica of a master.
func replicate(ctx context.Context, replica, master *Server) error {
	c := redis.NewClient(&redis.Options{Addr: master.Addr})
	defer c.Close()
	id, err := c.Do(ctx, "CLUSTER", "MYID").Text()
	if err != nil {
		return err
	}
	r := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer r.Close()
	if err := r.Do(ctx, "CLUSTER", "REPLICATE", id).Err(); err != nil {
		return err
	}
	return follows(ctx, replica, master)
}

// follows waits until a replica has all of its master's data and the master knows it.
func follows(ctx context.Context, replica, master *Server) error {
	if err := awaitInfo(ctx, replica, "replication", "master_link_status:up"); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(replica.Addr)
	if err != nil {
		return err
	}
	return awaitInfo(ctx, master, "replication", "port="+port+",state=online")
}

// awaitInfo waits until a section of INFO, or for "cluster" CLUSTER INFO, contains all the
// words.
func awaitInfo(ctx context.Context, s *Server, section string, words ...string) error {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	again := time.NewTicker(20 * time.Millisecond)
	defer again.Stop()
	for {
		info, err := infoOf(ctx, c, section)
		if err != nil {
			return err
		}
		if hasAll(info, words) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s waits for %q: %s", ctx.Err(), s.Addr, words, info)
		case <-again.C:
		}
	}
}

func infoOf(ctx context.Context, c *redis.Client, section string) (string, error) {
	if section == "cluster" {
		return c.ClusterInfo(ctx).Result()
	}
	return c.Info(ctx, section).Result()
}

func hasAll(text string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
