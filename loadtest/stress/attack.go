package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

type attackKind struct {
	name   string
	isSlow bool // its effect shows after seconds
	run    func(context.Context, *attacker)
}

var attackKinds = []attackKind{
	{"frames", false, floodFrames},
	{"connects", false, floodConnects},
	{"hellos", false, floodHellos},
	{"guests", false, floodGuests},
	{"lookups", false, floodLookups},
	{"slow-readers", true, readSlowly},
	{"slow-writers", true, writeSlowly},
	{"half-open", true, sendNothing},
	{"malformed-frames", false, sendMalformedFrames},
	{"malformed-http", false, sendMalformedRequests},
	{"tokens", false, forgeTokens},
	{"codes", false, tryCodes},
	{"bots", false, cheat},
	{"forwarded", false, spoofAddresses},
	{"admin", false, askForAdmin},
}

// AttackKinds returns the names of all attacks.
func AttackKinds() (names []string) {
	for _, k := range attackKinds {
		names = append(names, k.name)
	}
	return names
}

// runAttack carries out an order. It returns after For and SlowTimeout, or when ctx ends. By
// then it has closed everything that it opened.
func runAttack(ctx context.Context, o attackOrder) (attackCounts, error) {
	i := slices.Index(AttackKinds(), o.Kind)
	if i < 0 {
		return attackCounts{}, fmt.Errorf("there is no attack %q; use some of %v", o.Kind, AttackKinds())
	}
	a := &attacker{
		attackOrder: o, pace: rate.NewLimiter(rate.Limit(o.PerSecond), 1), until: time.Now().Add(o.For),
		clients: newClients(o.Addresses), counts: attackCounts{Kind: o.Kind, Refused: map[string]int64{}, Violations: map[string]int64{}},
	}
	defer a.clients.close()
	bounded, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout)
	defer cancel()
	attackKinds[i].run(bounded, a)
	return a.counts, ctx.Err()
}

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
