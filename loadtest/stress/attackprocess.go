package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"
)

// AttackersProcess is the name of the subprocess that reads an order as JSON, carries it
// out and writes its counts.
const AttackersProcess = "hostile-attackers"

// idlePriority starts attackers so that they run only when no other process of the
// machine wants to. Nice values are not enough, because the server would still wait
// until an attacker's time slice ends.
var idlePriority = []string{"chrt", "--idle", "0"} // of util-linux

// processGrace is how long a process may take beyond the time of its order.
const processGrace = 30 * time.Second

func runAttackers(ctx context.Context, o attackOrder) (counts attackCounts, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout+processGrace)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return counts, err
	}
	order, err := json.Marshal(o)
	if err != nil {
		return counts, err
	}
	cmd := exec.CommandContext(ctx, idlePriority[0], append(idlePriority[1:], self, AttackersProcess)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return counts, fmt.Errorf("the attackers %s: %w", o.Kind, err)
	}
	return counts, json.Unmarshal(out, &counts)
}

// Attackers runs a subprocess of attackers.
func Attackers(*flag.FlagSet) func(context.Context) error {
	return func(ctx context.Context) error {
		var o attackOrder
		if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
			return err
		}
		counts, err := runAttack(ctx, o)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(counts)
	}
}
