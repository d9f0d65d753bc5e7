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
	server := startRedisForTest(t, "--replicaof", host, port)
	ctx, cancel := context.WithTimeout(t.Context(), processTimeout)
	defer cancel()
	server.failTestOn(awaitReplication(ctx, server, master))
	return server
}

// makeReplica makes a node of a cluster the replica of a master.
func makeReplica(ctx context.Context, replica, master *Server) error {
	id, err := clusterID(ctx, master)
	if err != nil {
		return err
	}
	replicaClient := redis.NewClient(&redis.Options{Addr: replica.Addr})
	defer replicaClient.Close()
	if err := replicaClient.Do(ctx, "CLUSTER", "REPLICATE", id).Err(); err != nil {
		return err
	}
	return awaitReplication(ctx, replica, master)
}

// awaitReplication waits until a replica has all of its master's data and the master knows it.
func awaitReplication(ctx context.Context, replica, master *Server) error {
	if err := awaitInfo(ctx, replica, "replication", "master_link_status:up"); err != nil {
		return err
	}
	_, port, err := net.SplitHostPort(replica.Addr)
	if err != nil {
		return err
	}
	return awaitInfo(ctx, master, "replication", "port="+port+",state=online")
}

// sectionNodes is CLUSTER NODES for awaitInfo.
const sectionNodes = "cluster nodes"

// awaitInfo waits until a section of INFO, for "cluster" CLUSTER INFO, contains all the words.
func awaitInfo(ctx context.Context, server *Server, section string, wantTexts ...string) error {
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	ticker := time.NewTicker(20 * time.Millisecond)
	defer ticker.Stop()
	for {
		info, err := readInfo(ctx, client, section)
		if err != nil {
			return err
		}
		if containsAll(info, wantTexts) {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %s waits for %q: %s", ctx.Err(), server.Addr, wantTexts, info)
		case <-ticker.C:
		}
	}
}

func readInfo(ctx context.Context, client *redis.Client, section string) (string, error) {
	switch section {
	case "cluster":
		return client.ClusterInfo(ctx).Result()
	case sectionNodes:
		return client.ClusterNodes(ctx).Result()
	}
	return client.Info(ctx, section).Result()
}

func containsAll(text string, wantTexts []string) bool {
	for _, word := range wantTexts {
		if !strings.Contains(text, word) {
			return false
		}
	}
	return true
}
