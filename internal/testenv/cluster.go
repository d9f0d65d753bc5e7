package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Cluster returns the URL of a Redis cluster that all tests of the binary share. Its two
// masters have the slots 0 to 8191 and 8192 to 16383. The first call starts the cluster,
// which takes about three seconds. Cluster skips the test if redis-server is not installed
// and not required.
func Cluster(t testing.TB) string {
	t.Helper()
	require(t, "redis-server")
	nodes, err := sharedCluster()
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	return nodes.URL
}

var sharedCluster = sync.OnceValues(func() (*ClusterNodes, error) { return startCluster(2, 0) })

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
func StartCluster(t testing.TB, masters, replicas int) *ClusterNodes {
	t.Helper()
	require(t, "redis-server")
	nodes, err := startCluster(masters, replicas, takeOverEarly...)
	if err != nil {
		t.Fatalf("start a Redis cluster: %v", err)
	}
	for _, server := range slices.Concat(nodes.Masters, nodes.Replicas) {
		ownedBy(t, server, nil)
	}
	return nodes
}

// takeOverEarly are arguments of nodes whose replicas take over about two seconds after the death of
// a master.
var takeOverEarly = []string{"--cluster-node-timeout", "2000", "--cluster-replica-validity-factor", "0"}

// startCluster starts the servers of a cluster, and waits until the cluster is complete.
func startCluster(masters, replicas int, extraArgs ...string) (nodes *ClusterNodes, err error) {
	defer Recover(&err)
	var servers []*Server
	var addrs []string
	for range masters + replicas {
		server := Must(startRedis(append([]string{clusterEnabled, "yes"}, extraArgs...)...))
		servers, addrs = append(servers, server), append(addrs, server.Addr)
	}
	nodes = &ClusterNodes{URL: "redis://" + strings.Join(addrs[:masters], ","), Masters: slices.Clip(servers[:masters]), Replicas: servers[masters:]}
	ctx, cancel := context.WithTimeout(context.Background(), processTimeout)
	defer cancel()
	nodes.join(ctx, servers)
	return nodes, nil
}

// join assigns the slots, introduces the servers to the first one, and waits until each of them
// knows the owner of every slot. Then it makes the replicas. It fails by Must.
func (n *ClusterNodes) join(ctx context.Context, servers []*Server) {
	const slots = 16384
	masters := len(n.Masters)
	for i, server := range servers {
		Must(server.redis(ctx, fmt.Sprint("CLUSTER SET-CONFIG-EPOCH ", i+1)))
		if i < masters {
			Must(server.redis(ctx, fmt.Sprintf("CLUSTER ADDSLOTSRANGE %d %d", i*slots/masters, (i+1)*slots/masters-1)))
		}
		if i > 0 {
			n.meet(ctx, server)
		}
	}
	for _, server := range servers {
		server.awaitSlots(ctx)
	}
	for i, replica := range n.Replicas {
		master := n.Masters[i%masters]
		Must(replica.redis(ctx, "CLUSTER REPLICATE "+master.clusterID(ctx)))
		MustDo(awaitReplication(ctx, replica, master))
	}
}

// meet introduces a server to the first master.
func (n *ClusterNodes) meet(ctx context.Context, server *Server) {
	Must(n.Masters[0].redis(ctx, fmt.Sprintf("CLUSTER MEET %s %d", strings.Replace(server.Addr, ":", " ", 1), server.clusterPort)))
}

// awaitSlots waits until the server knows the owner of every slot.
func (s *Server) awaitSlots(ctx context.Context) {
	MustDo(s.awaitInfo(ctx, "CLUSTER INFO", "cluster_state:ok", "cluster_slots_ok:16384"))
}

func (s *Server) clusterID(ctx context.Context) string { return Must(s.redis(ctx, "CLUSTER MYID")) }

// MoveSlots moves slots of a master to another one with redis-cli, as operators do. Clients may use the
// cluster at the same time. The arguments from and to are indexes of Masters.
func (n *ClusterNodes) MoveSlots(ctx context.Context, from, to, slots int) (err error) {
	defer Recover(&err)
	fromID, toID := n.Masters[from].clusterID(ctx), n.Masters[to].clusterID(ctx)
	n.awaitAgreement(ctx)
	return redisCLI(ctx, "--cluster", "reshard", n.Masters[from].Addr, "--cluster-from", fromID, "--cluster-to", toID,
		"--cluster-slots", strconv.Itoa(slots), "--cluster-yes", "--cluster-pipeline", "10")
}

// AddMaster adds a master without slots to the cluster.
func (n *ClusterNodes) AddMaster(ctx context.Context) (err error) {
	defer Recover(&err)
	server := Must(startRedis(append([]string{clusterEnabled, "yes"}, takeOverEarly...)...))
	n.meet(ctx, server)
	server.awaitSlots(ctx)
	n.Masters = append(n.Masters, server)
	n.awaitAgreement(ctx)
	return nil
}

// Failover kills a master, waits until its replica has taken over, and starts the former
// master as the new replica. Master i must have replica i.
func (n *ClusterNodes) Failover(ctx context.Context, i int) (err error) {
	defer Recover(&err)
	master, replica := n.Masters[i], n.Replicas[i]
	n.awaitAgreement(ctx) // else the replica may not know the latest slots of its master
	MustDo(awaitReplication(ctx, replica, master))
	MustDo(master.stop(syscall.SIGKILL))
	MustDo(replica.awaitInfo(ctx, "INFO replication", "role:master"))
	MustDo(master.start())
	n.Masters[i], n.Replicas[i] = replica, master
	return awaitReplication(ctx, master, replica)
}

// awaitAgreement waits until all nodes know all masters, and redis-cli finds that they know the
// same owners of all slots. It does not see that a node does not know a master without slots.
func (n *ClusterNodes) awaitAgreement(ctx context.Context) {
	var ids []string
	for _, master := range n.Masters {
		ids = append(ids, master.clusterID(ctx)+" ")
	}
	for _, server := range slices.Concat(n.Masters, n.Replicas) {
		MustDo(server.awaitInfo(ctx, "CLUSTER NODES", ids...))
	}
	MustDo(Poll(ctx, 200*time.Millisecond, func() error { return redisCLI(ctx, "--cluster", "check", n.Masters[0].Addr) }))
}

// redisCLI runs redis-cli, which Debian installs with redis-server.
func redisCLI(ctx context.Context, args ...string) error {
	_, err := Output(exec.CommandContext(ctx, "redis-cli", args...))
	return err
}
