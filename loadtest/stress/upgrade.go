package stress

import (
	"context"
	"time"
)

// replaceNodes replaces the nodes one by one with the program c.Next, and then one by one with
// the program before, spread over the run. A match that a node cannot read is a violation.
func (r *run) replaceNodes(ctx context.Context, c ChaosConfig) error {
	if c.Next == "" {
		return nil
	}
	startAt := time.Now()
	steps := 2 * len(r.cluster.nodes)
	for step := range steps {
		if err := pause(ctx, time.Until(startAt.Add(c.For*time.Duration(step+1)/time.Duration(steps+2)))); err != nil {
			return err
		}
		node, binary, name := step%len(r.cluster.nodes), c.Next, "the next version"
		if step >= len(r.cluster.nodes) {
			binary, name = r.cluster.Binary, "the former version"
		}
		r.log("replace %s with %s", nodeName(node), name)
		if err := r.cluster.replace(ctx, node, binary); err != nil {
			return err
		}
	}
	return nil
}

// replace drains a node, and starts another program in its place.
func (a *cluster) replace(ctx context.Context, node int, binary string) error {
	a.checkReadable(ctx)
	a.retire(node)
	a.nodes[node].UseBinary(binary)
	return a.restart(node)
}

// checkReadable checks that all nodes can read all matches.
func (a *cluster) checkReadable(ctx context.Context) {
	for i, n := range a.nodes {
		m, err := n.Metrics(ctx)
		if err != nil {
			a.checker.Violations.Add("%s: no metrics: %v", nodeName(i), err)
		} else if failures := m.Sum("laststand_match_decode_failures_total"); failures > 0 {
			a.checker.Violations.Add("%s could not read a match %v times", nodeName(i), failures)
		}
	}
}
