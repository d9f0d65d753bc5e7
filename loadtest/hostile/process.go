package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"time"

	"laststand/loadtest/hostile/attack"
)

// attackers is the argument that makes this program a process of attackers. Such a
// process reads an order as JSON and writes its counts.
const attackers = "attackers"

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
	cmd := exec.CommandContext(ctx, idly[0], append(idly[1:], self, attackers)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), os.Stderr
	out, err := cmd.Output()
	if err != nil {
		return t, fmt.Errorf("the attackers %s: %w", o.Kind, err)
	}
	return t, json.Unmarshal(out, &t)
}

// obey carries out the order that it reads from standard input.
func obey() {
	var o attack.Order
	err := json.NewDecoder(os.Stdin).Decode(&o)
	if err == nil {
		var t attack.Counts
		if t, err = attack.Run(context.Background(), o); err == nil {
			err = json.NewEncoder(os.Stdout).Encode(t)
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "hostile: attackers:", err)
		os.Exit(1)
	}
}
