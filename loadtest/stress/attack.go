package stress

import (
	"context"
	"fmt"
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
