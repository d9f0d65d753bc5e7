package testenv

import (
	"context"
	"fmt"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"
)

// StartClusterUntilExit starts a Redis cluster for a program without a test. It ends with this
// process. See StartCluster.
func StartClusterUntilExit(masters, replicas int) (ClusterNodes, error) {
	return startCluster(masters, replicas, (*Server).stopAtExit, takeOverEarly...)
}

// MoveSlots moves slots of a master to another one with redis-cli, as operators do. Clients may use the
// cluster at the same time. The arguments from and to are indexes of Masters.
func (n *ClusterNodes) MoveSlots(ctx context.Context, from, to, slots int) error {
	fromID, err := clusterID(ctx, n.Masters[from])
	if err != nil {
		return err
	}
	toID, err := clusterID(ctx, n.Masters[to])
	if err != nil {
		return err
	}
	if err := n.awaitAgreement(ctx); err != nil {
		return err
	}
	return redisCLI(ctx, "--cluster", "reshard", n.Masters[from].Addr, "--cluster-from", fromID, "--cluster-to", toID,
		"--cluster-slots", strconv.Itoa(slots), "--cluster-yes", "--cluster-pipeline", "10")
}

// AddMaster adds a master without slots to the cluster.
func (n *ClusterNodes) AddMaster(ctx context.Context) error {
	server, err := startRedis(append([]string{clusterEnabled, "yes"}, takeOverEarly...)...)
	if err != nil {
		return err
	}
	server.stopAtExit()
	first := redis.NewClient(&redis.Options{Addr: n.Masters[0].Addr})
	defer first.Close()
	if err := meet(ctx, first, server); err != nil {
		return err
	}
	if err := awaitInfo(ctx, server, "cluster", "cluster_state:ok", "cluster_slots_ok:16384"); err != nil {
		return err
	}
	n.Masters = append(n.Masters, server)
	return n.awaitAgreement(ctx)
}

// Failover kills a master, waits until its replica has taken over, and starts the former
// master as the new replica. Master i must have replica i.
func (n *ClusterNodes) Failover(ctx context.Context, i int) error {
	master, replica := n.Masters[i], n.Replicas[i]
	if err := n.awaitAgreement(ctx); err != nil { // else the replica may not know the latest slots of its master
		return err
	}
	if err := awaitReplication(ctx, replica, master); err != nil {
		return err
	}
	if err := master.child.stop(syscall.SIGKILL); err != nil {
		return err
	}
	if err := awaitInfo(ctx, replica, "replication", "role:master"); err != nil {
		return err
	}
	if err := master.child.start(); err != nil {
		return err
	}
	n.Masters[i], n.Replicas[i] = replica, master
	return awaitReplication(ctx, master, replica)
}

// awaitAgreement waits until all nodes know all masters, and redis-cli finds that they know the
// same owners of all slots. It does not see that a node does not know a master without slots.
func (n *ClusterNodes) awaitAgreement(ctx context.Context) error {
	var ids []string
	for _, master := range n.Masters {
		id, err := clusterID(ctx, master)
		if err != nil {
			return err
		}
		ids = append(ids, id+" ")
	}
	for _, server := range slices.Concat(n.Masters, n.Replicas) {
		if err := awaitInfo(ctx, server, sectionNodes, ids...); err != nil {
			return err
		}
	}
	for {
		err := redisCLI(ctx, "--cluster", "check", n.Masters[0].Addr)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w: %w", ctx.Err(), err)
		case <-time.After(200 * time.Millisecond):
		}
	}
}

func clusterID(ctx context.Context, server *Server) (string, error) {
	client := redis.NewClient(&redis.Options{Addr: server.Addr})
	defer client.Close()
	return client.Do(ctx, "CLUSTER", "MYID").Text()
}

// redisCLI runs redis-cli, which Debian installs with redis-server.
func redisCLI(ctx context.Context, args ...string) error {
	out, err := exec.CommandContext(ctx, "redis-cli", args...).CombinedOutput()
	if err != nil {
		return fmt.Errorf("redis-cli %s: %w: %s", strings.Join(args, " "), err, out[max(0, len(out)-1000):])
	}
	return nil
}
