package overload

import (
	"context"
	"fmt"
	"time"
)

// RuleConfig configures a rule: it allows Limit actions per Per. After a pause it allows
// Burst actions at the same time; Burst 0 means Limit. Limit 0 means no limit.
type RuleConfig struct {
	Name        string // in metrics and in the list of dry runs
	Subject     string // what the rule limits, for error texts after "too many": "players from this address"
	Limit       int
	Per         time.Duration
	Burst       int
	ClusterWide bool // all nodes share the buckets
}

// Store stores the buckets that all nodes share. It uses the cluster's time.
type Store interface {
	// Take applies a demand. It returns 0, or how long until the tokens are available. For
	// the mode Charge it returns how long until the next token is available. If a reply is
	// lost and the call is repeated, it may take the tokens twice.
	Take(ctx context.Context, demand SharedDemand) (wait time.Duration, err error)

	// AddSecret stores for a day that a secret is right for a key of a rule. HasSecret
	// returns true if it is stored.
	AddSecret(ctx context.Context, rule, key, secret string) error
	HasSecret(ctx context.Context, rule, key, secret string) (bool, error)
}

// SharedDemand is a demand for Cost tokens of a bucket that all nodes share. The bucket has
// at most Burst tokens and gets a new one each Interval.
type SharedDemand struct {
	Rule, Key   string
	Cost, Burst int
	Interval    time.Duration
	Mode        Mode
}

// Mode says what a demand does with the tokens.
type Mode string

// The modes.
const (
	Take   Mode = "take"   // takes the tokens if all of them are available
	Check  Mode = "check"  // takes none
	Charge Mode = "charge" // takes the tokens; missing ones become a debt of at most Burst
)

// storeTimeout is how long a call waits for the store. After it the node decides alone.
const storeTimeout = 250 * time.Millisecond

// tokenInterval returns the time in which a bucket gets one token, in whole microseconds.
func (c RuleConfig) tokenInterval() time.Duration {
	return max((c.Per / time.Duration(c.Limit)).Truncate(time.Microsecond), time.Microsecond)
}

// rateText returns the rate as people read it, such as "60 a minute".
func (c RuleConfig) rateText() string {
	names := map[time.Duration]string{time.Second: "a second", time.Minute: "a minute", time.Hour: "an hour", 24 * time.Hour: "a day"}
	per, ok := names[c.Per]
	if !ok {
		per = "in " + c.Per.String()
	}
	return fmt.Sprintf("%d %s", c.Limit, per)
}
