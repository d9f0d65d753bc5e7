package testenv

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"
)

// Cluster returns the URL of a Redis cluster that all tests of the binary share. Its two
// masters have the slots 0 to 8191 and 8192 to 16383. The first call starts the cluster,
// which takes about three seconds. Cluster skips the test if redis-server is not installed
// and not required.
func Cluster(t testing.TB) string {
	t.Helper()
	needRedis(t)
	url, err := cluster()
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return url
}

var cluster = sync.OnceValues(func() (string, error) {
	dir, err := sharedDir()
	if err != nil {
		return "", err
	}
	nodes, err := startNodes(dir, 2, func(s *Server) {
		atEnd(func() error { return s.child.stop(syscall.SIGKILL) })
	})
	if err != nil {
		return "", err
	}
	return clusterURL(nodes), shareSlots(nodes)
})

// Nodes are the servers of a cluster.
type Nodes struct {
	URL      string
	Masters  []*Server // each has an equal range of the slots, in this order
	Replicas []*Server // replica i replicates master i modulo the number of masters
}

// ClusterOf starts a Redis cluster of two or more masters for this test alone. Its nodes
// notice a dead node within about two seconds. With three or more masters, the replica of a
// dead master then takes over. It skips the test if redis-server is not installed and not
// required.
func ClusterOf(t testing.TB, masters, replicas int) Nodes {
	t.Helper()
	needRedis(t)
	all, err := startNodes(t.TempDir(), masters+replicas, func(s *Server) { s.owned(t) },
		"--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0")
	if err != nil {
		t.Fatal(err)
	}
	nodes := Nodes{URL: clusterURL(all[:masters]), Masters: all[:masters], Replicas: all[masters:]}
	if err := shareSlots(nodes.Masters, nodes.Replicas...); err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return nodes
}

func clusterURL(masters []*Server) string {
	addrs := make([]string, len(masters))
	for i, s := range masters {
		addrs[i] = s.Addr
	}
	return "redis://" + strings.Join(addrs, ",")
}

// startNodes starts n servers that do not know each other yet. It calls onStart for each.
func startNodes(dir string, n int, own func(*Server), more ...string) ([]*Server, error) {
	var nodes []*Server
	for range n {
		node, err := startOnFreePort(func(port int) (*Server, error) {
			bus, err := FreePort()
			if err != nil {
				return nil, err
			}
			s, err := startRedis(dir, port, append([]string{
				"--cluster-enabled", "yes",
				"--cluster-port", strconv.Itoa(bus),
				"--cluster-config-file", fmt.Sprintf("nodes-%d.conf", port)}, more...)...)
			s.bus = bus
			return s, err
		})
		if err != nil {
			return nil, err
		}
		own(node)
		nodes = append(nodes, node)
	}
	return nodes, nil
}

// shareSlots makes one cluster of the servers and waits until it is complete.
func shareSlots(masters []*Server, replicas ...*Server) error {
	ctx, cancel := context.WithTimeout(context.Background(), processTimeout)
	defer cancel()
	if err := meet(ctx, masters, replicas); err != nil {
		return err
	}
	for i, s := range replicas {
		if err := replicate(ctx, s, masters[i%len(masters)]); err != nil {
			return err
		}
	}
	return nil
}

// meet assigns the slots, introduces the nodes and waits until each node knows the owner of
// every slot.
func meet(ctx context.Context, masters, replicas []*Server) error {
	const slots = 16384
	first := redis.NewClient(&redis.Options{Addr: masters[0].Addr})
	defer first.Close()
	all := append(append([]*Server(nil), masters...), replicas...)
	for i, s := range all {
		var slot [2]int
		if i < len(masters) {
			slot = [2]int{i * slots / len(masters), (i+1)*slots/len(masters) - 1}
		}
		if err := introduce(ctx, first, s, i+1, slot); err != nil {
			return err
		}
	}
	for _, s := range all {
		if err := awaitInfo(ctx, s, "cluster", "cluster_state:ok", "cluster_slots_ok:16384"); err != nil {
			return err
		}
	}
	return nil
}

// introduce sets the epoch of a node, assigns it a range of slots, and makes the first node
// meet it. If slots is the zero value, the node gets no slots.
func introduce(ctx context.Context, first *redis.Client, s *Server, epoch int, slots [2]int) error {
	c := redis.NewClient(&redis.Options{Addr: s.Addr})
	defer c.Close()
	if err := c.Do(ctx, "CLUSTER", "SET-CONFIG-EPOCH", epoch).Err(); err != nil {
		return err
	}
	if slots[1] > 0 {
		if err := c.ClusterAddSlotsRange(ctx, slots[0], slots[1]).Err(); err != nil {
			return err
		}
	}
	host, port, err := net.SplitHostPort(s.Addr)
	if err != nil || epoch == 1 {
		return err
	}
	return first.Do(ctx, "CLUSTER", "MEET", host, port, s.bus).Err()
}
