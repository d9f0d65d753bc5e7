package testenv

import (
	"context"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster returns the URL of a Redis cluster that all tests of the binary share. Its two
// masters have the slots 0 to 8191 and 8192 to 16383. The first call starts the cluster,
// which takes about three seconds. Cluster skips the test if redis-server is not installed
// and not required.
func Cluster(t testing.TB) string {
	t.Helper()
	requireRedis(t)
	url, err := sharedCluster()
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return url
}

var sharedCluster = sync.OnceValues(func() (string, error) {
	nodes, err := startCluster(2, 0, (*Server).stopAtExit)
	return nodes.URL, err
})

// ClusterNodes are the servers of a cluster.
type ClusterNodes struct {
	URL      string
	Masters  []*Server // each has an equal range of the slots, in this order
	Replicas []*Server // replica i replicates master i modulo the number of masters
}

// StartCluster starts a Redis cluster of two or more masters for this test alone. Its nodes
// notice a dead node within about two seconds. With three or more masters, the replica of a
// dead master then takes over. It skips the test if redis-server is not installed and not
// required.
func StartCluster(t testing.TB, masters, replicas int) ClusterNodes {
	t.Helper()
	requireRedis(t)
	nodes, err := startCluster(masters, replicas, func(server *Server) { server.stopWithTest(t) }, takeOverEarly...)
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return nodes
}

// takeOverEarly are arguments of nodes whose replicas take over about two seconds after the death of
// a master.
var takeOverEarly = []string{"--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0"}

func clusterURL(masters []*Server) string {
	addrs := make([]string, len(masters))
	for i, server := range masters {
		addrs[i] = server.Addr
	}
	return "redis://" + strings.Join(addrs, ",")
}

// startCluster starts the servers of a cluster, and waits until the cluster is complete. It
// calls onStart for each server that it has started.
func startCluster(masters, replicas int, onStart func(*Server), extraArgs ...string) (nodes ClusterNodes, err error) {
	var servers []*Server
	for range masters + replicas {
		server, err := startRedis(append([]string{clusterEnabled, "yes"}, extraArgs...)...)
		if err != nil {
			return nodes, err
		}
		onStart(server)
		servers = append(servers, server)
	}
	nodes = ClusterNodes{URL: clusterURL(servers[:masters]), Masters: slices.Clip(servers[:masters]), Replicas: servers[masters:]}
	ctx, cancel := context.WithTimeout(context.Background(), processTimeout)
	defer cancel()
	if err := assignSlotsAndMeet(ctx, nodes); err != nil {
		return nodes, err
	}
	for i, server := range nodes.Replicas {
		if err := makeReplica(ctx, server, nodes.Masters[i%masters]); err != nil {
			return nodes, err
		}
	}
	return nodes, nil
}

// assignSlotsAndMeet assigns the slots, introduces the nodes and waits until each node knows the owner of
// every slot.
func assignSlotsAndMeet(ctx context.Context, all ClusterNodes) error {
	const slots = 16384
	firstClient := redis.NewClient(&redis.Options{Addr: all.Masters[0].Addr})
	defer firstClient.Close()
	nodes := slices.Concat(all.Masters, all.Replicas)
	masters := len(all.Masters)
	for i, server := range nodes {
		var slot [2]int
		if i < masters {
			slot = [2]int{i * slots / masters, (i+1)*slots/masters - 1}
		}
		if err := introduceNode(ctx, firstClient, server, i+1, slot); err != nil {
			return err
		}
	}
	for _, server := range nodes {
		if err := awaitInfo(ctx, server, "cluster", "cluster_state:ok", "cluster_slots_ok:16384"); err != nil {
			return err
		}
	}
	return nil
}

// introduceNode sets the epoch of a node, assigns it a range of slots, and makes the first node
// meet it. If slots is the zero value, the node gets no slots.
func introduceNode(ctx context.Context, firstClient *redis.Client, server *Server, epoch int, slots [2]int) error {
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	if err := client.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", epoch).Err(); err != nil {
		return err
	}
	if slots[1] > 0 {
		if err := client.ClusterAddSlotsRange(ctx, slots[0], slots[1]).Err(); err != nil {
			return err
		}
	}
	if epoch == 1 {
		return nil
	}
	return meet(ctx, firstClient, server)
}

func meet(ctx context.Context, firstClient *redis.Client, server *Server) error {
	host, port, err := net.SplitHostPort(server.Addr)
	if err != nil {
		return err
	}
	return firstClient.Do(ctx, "CLUSTER", "MEET", host, port, server.clusterPort).Err()
}
