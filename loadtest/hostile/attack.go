package hostile

import (
	"context"
	"fmt"
	"slices"
	"time"

	"golang.org/x/time/rate"
)

// kinds are all attacks by name.
var kinds = []struct {
	name   string
	isSlow bool // its effect shows after seconds
	run    func(context.Context, *attacker)
}{
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

// Kinds returns the names of all attacks.
func Kinds() (names []string) {
	for _, k := range kinds {
		names = append(names, k.name)
	}
	return names
}

// IsSlow reports whether a kind needs time: its effect shows after seconds.
func IsSlow(kind string) bool {
	for _, k := range kinds {
		if k.name == kind {
			return k.isSlow
		}
	}
	return false
}

// Run carries out an order. It returns after For and SlowTimeout, or when ctx ends. By
// then it has closed everything that it opened.
func Run(ctx context.Context, o Order) (Counts, error) {
	i := slices.Index(Kinds(), o.Kind)
	if i < 0 {
		return Counts{}, fmt.Errorf("there is no attack %q; use one of %v", o.Kind, Kinds())
	}
	a := &attacker{
		Order: o, pace: rate.NewLimiter(rate.Limit(o.PerSecond), 1), until: time.Now().Add(o.For),
		clients: newClients(o.Addresses), counts: Counts{Kind: o.Kind, Refused: map[string]int64{}, Violations: map[string]int64{}},
	}
	defer a.clients.close()
	bounded, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout)
	defer cancel()
	kinds[i].run(bounded, a)
	return a.counts, ctx.Err()
}
