package stress

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"

	"laststand/internal/testenv"
	"laststand/loadtest/checker"
	"laststand/loadtest/players"
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

// attackOrder says what one kind of attackers does. All fields but Match and Revoked are
// needed.
type attackOrder struct {
	Kind      string
	URL, Ops  string        // the server's two addresses, as http://…
	Addresses int           // how many loopback addresses to connect from
	For       time.Duration // how long the attackers start new actions
	PerSecond float64       // actions a second, by all attackers together
	Sockets   int           // connections at a time, at most

	Match       string // a match of honest players; "" for none
	Limits      Limits
	Revoked     map[string]string // tokens that were once valid, by the reason why they are not
	SlowTimeout time.Duration     // extra time to try all cases, and for the server to cut off slow clients
}

// Limits are what the server grants to one address. A limit of 0 is not checked.
type Limits struct {
	Guests, Lookups int // a minute
	Codes           int // wrong codes an hour, including those of players with a token
}

// attackResult is the result of an order.
type attackResult struct {
	Counts     map[string]int64 // of actions, and by kind of refusal: see noteFrame and noteAnswer
	Violations []string
}

// actions is the name of the count of what the attackers did.
const actions = "actions"

// AttackersProcess is the name of the subprocess that reads an order as JSON, carries it
// out and writes its result.
const AttackersProcess = "hostile-attackers"

// Attackers runs a subprocess of attackers.
type Attackers struct{}

// Run runs the program. It fails by testenv.Must.
func (*Attackers) Run(ctx context.Context) {
	var o attackOrder
	testenv.MustDo(json.NewDecoder(os.Stdin).Decode(&o))
	testenv.MustDo(json.NewEncoder(os.Stdout).Encode(testenv.Must(runAttack(ctx, o))))
}

// idlePriority starts attackers so that they run only when no other process of the
// machine wants to. Nice values are not enough, because the server would still wait
// until an attacker's time slice ends.
var idlePriority = []string{"chrt", "--idle", "0"} // of util-linux

// processGrace is how long a process may take beyond the time of its order.
const processGrace = 30 * time.Second

// runAttackers carries out an order in a process of idle priority.
func runAttackers(ctx context.Context, o attackOrder) (result attackResult, err error) {
	defer testenv.Recover(&err)
	ctx, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout+processGrace)
	defer cancel()
	self, order := testenv.Must(os.Executable()), testenv.Must(json.Marshal(o))
	cmd := exec.CommandContext(ctx, idlePriority[0], append(idlePriority[1:], self, AttackersProcess)...)
	cmd.Stdin, cmd.Stderr = bytes.NewReader(order), os.Stderr
	out, err := cmd.Output()
	testenv.FailIf(err != nil, "the attackers %s: %w", o.Kind, err)
	return result, json.Unmarshal(out, &result)
}

// runAttack carries out an order. It returns after For and SlowTimeout, or when ctx ends. By
// then it has closed everything that it opened.
func runAttack(ctx context.Context, o attackOrder) (attackResult, error) {
	i := slices.Index(AttackKinds(), o.Kind)
	if i < 0 {
		return attackResult{}, fmt.Errorf("there is no attack %q; use some of %v", o.Kind, AttackKinds())
	}
	a := newAttacker(o)
	defer func() {
		for _, client := range a.clients {
			client.CloseIdleConnections()
		}
	}()
	bounded, cancel := context.WithTimeout(ctx, o.For+o.SlowTimeout)
	defer cancel()
	attackKinds[i].run(bounded, a)
	return a.result(), ctx.Err()
}

// attacker runs the attackers of one order.
type attacker struct {
	attackOrder
	pace    *rate.Limiter
	until   time.Time      // no new action starts after it
	clients []*http.Client // one for each address

	stats      *players.Recorder // see attackResult
	violations checker.Violations
}

func newAttacker(o attackOrder) *attacker {
	a := &attacker{attackOrder: o, pace: rate.NewLimiter(rate.Limit(o.PerSecond), 1), until: time.Now().Add(o.For), stats: players.NewRecorder(time.Hour)}
	for n := range o.Addresses {
		a.clients = append(a.clients, &http.Client{Timeout: callTimeout, Transport: &http.Transport{
			DialContext: a.dialer(n).DialContext, MaxConnsPerHost: 16, MaxIdleConnsPerHost: 16, DisableCompression: true,
		}})
	}
	return a
}

// repeat runs workers that call act again and again, at the pace of the order. It ends
// when the time of the order is over and act was called at least as often as least says.
// There are as many workers as the order has sockets, and at most as many as most says.
func (a *attacker) repeat(ctx context.Context, most, least int, act func(w *worker, n int)) {
	var calls atomic.Int64
	var workers sync.WaitGroup
	for number := range min(a.Sockets, most) {
		workers.Go(func() {
			w := &worker{a, ctx, number}
			for {
				n := int(calls.Add(1)) - 1
				if n >= least && time.Now().After(a.until) || !w.awaitPace() {
					return
				}
				act(w, n)
			}
		})
	}
	workers.Wait()
}

// next waits for the pace of the order and counts an action. It returns false when the
// time of the order is over.
func (w *worker) next() bool { return time.Now().Before(w.until) && w.awaitPace() }

func (w *worker) awaitPace() bool {
	if w.pace.Wait(w.ctx) != nil {
		return false
	}
	w.stats.Count(actions, 1)
	return true
}

func (a *attacker) refused(refusal string) { a.stats.Count(refusal, 1) }

// violationIf notes a violation, if there is one.
func (a *attacker) violationIf(isWrong bool, format string, args ...any) {
	if isWrong {
		a.violation(format, args...)
	}
}

func (a *attacker) violation(format string, args ...any) {
	a.violations.Add("%s: %s", a.Kind, fmt.Sprintf(format, args...))
}

// result returns what was counted so far. Many violations end with their number.
func (a *attacker) result() attackResult {
	listed, count := a.violations.All()
	if count > len(listed) {
		listed = append(listed, fmt.Sprintf("%s: %d violations in all", a.Kind, count))
	}
	return attackResult{a.stats.All().Counts, listed}
}

// checkGranted checks how often all addresses together were granted something since the
// order started. Each address may have a full bucket and the refill since then. It may
// have one more, for the case that Redis does not answer in time.
func (a *attacker) checkGranted(name string, times int64, each int, period time.Duration) {
	elapsed := time.Since(a.until) + a.For
	most := float64(a.Addresses) * (1 + float64(each)*(1+float64(elapsed)/float64(period)))
	a.violationIf(each > 0 && float64(times) > most, "%d addresses were granted %d %s; the limit is %.0f", a.Addresses, times, name, most)
}

// token returns a valid token of a hostile player of the game demo.
func (a *attacker) token(sub string) string {
	token, _ := testenv.Token("player", sub) // texts always encode
	return token
}
