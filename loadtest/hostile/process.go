package hostile

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"time"

	"laststand/loadtest/hostile/attack"
)

// AttackersProcess is the name of the subprocess that reads an order as JSON, carries it
// out and writes its counts.
const AttackersProcess = "hostile-attackers"

// idly starts attackers at idle priority: they run only when no other process of the
// machine wants to. Nice values are not enough, because the server would still wait
// until an attacker's time slice ends.
var idly = []string{"chrt", "--idle", "0"} // of util-linux

// grace is how long a process may take beyond the time of its order.
const grace = 30 * time.Second

// send carries out an order in a separate process.
func send(ctx context.Context, o attack.Order) (t attack.Counts, err error) {
	ctx, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout+grace)
	defer cancel()
	self, err := os.Executable()
	if err != nil {
		return t, err
	}
	order, err := json.Marshal(o)
	if err != nil {
		return t, err
	}
	cmd := exec.CommandContext(ctx, idly[0], append(idly[1:], self, AttackersProcess)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return t, fmt.Errorf("the attackers %s: %w", o.Kind, err)
	}
	return t, json.Unmarshal(out, &t)
}

// Attackers carries out the order that it reads from standard input.
func Attackers(*flag.FlagSet) func(context.Context) error {
	return func(ctx context.Context) error {
		var o attack.Order
		if err := json.NewDecoder(os.Stdin).Decode(&o); err != nil {
			return err
		}
		t, err := attack.Run(ctx, o)
		if err != nil {
			return err
		}
		return json.NewEncoder(os.Stdout).Encode(t)
	}
}
