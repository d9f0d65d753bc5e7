package identity_test

import (
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"laststand/internal/identity"
	"laststand/internal/ledger"
	"laststand/internal/testenv"
)

const (
	demo   = "demo"
	secret = "kT3vJ0w9Qm2xB7sLr5Yd8Ze1"
	now    = int64(1795212345678) // time of the clocks of tests, in epoch ms
)

// newNode opens the registry of a node on a ledger.
func newNode(t testing.TB, sqlLedger *ledger.Ledger) *identity.Registry {
	t.Helper()
	return openNode(t, sqlLedger, identity.Config{})
}

// openNode is newNode with more of the configuration.
func openNode(t testing.TB, sqlLedger *ledger.Ledger, config identity.Config) *identity.Registry {
	t.Helper()
	clock, logger := func() int64 { return now }, slog.New(slog.DiscardHandler)
	tokens := testenv.Need(identity.OpenTokens(t.Context(), identity.TokensConfig{Games: []string{demo}, Keys: sqlLedger.TokenKeys, Now: clock}))(t)
	revocations := identity.RevocationsConfig{Store: sqlLedger.Revocations, Tokens: tokens, Now: clock, Logger: logger}
	config.Tokens, config.Players, config.Devices, config.Logger = tokens, sqlLedger.Players, sqlLedger.Players, logger
	config.Revocations = testenv.Need(identity.OpenRevocations(t.Context(), revocations))(t)
	config.Names, config.NameSource, config.Epoch = sqlLedger.Names, sqlLedger.Names, sqlLedger.Epoch()
	return identity.Open(config)
}

// runningNode is the registry of a running node, with its metrics.
type runningNode struct {
	*identity.Registry
	metrics *prometheus.Registry
	stop    func()
}

// start runs a node's registry with these snapshots until the test ends or stop is called.
func start(t *testing.T, sqlLedger *ledger.Ledger, snapshots identity.Snapshots) *runningNode {
	t.Helper()
	node := &runningNode{metrics: prometheus.NewRegistry()}
	node.Registry = openNode(t, sqlLedger, identity.Config{Snapshots: snapshots, Registry: node.metrics})
	node.stop = testenv.Run(t, node.Run)
	return node
}

// metricValue returns the sum of the samples of a name filter metric that have a label value; "" for
// all samples. It returns -1 if there is no such sample.
func (n *runningNode) metricValue(t *testing.T, name, labelValue string) float64 {
	t.Helper()
	families := testenv.Need(n.metrics.Gather())(t)
	sum, found := 0.0, false
	for _, family := range families {
		for _, sample := range family.GetMetric() {
			hasValue := slices.ContainsFunc(sample.GetLabel(), func(l *dto.LabelPair) bool { return l.GetValue() == labelValue })
			if family.GetName() == "laststand_name_filter_"+name && (labelValue == "" || hasValue) {
				found = true
				sum += sample.GetGauge().GetValue() + sample.GetCounter().GetValue()
			}
		}
	}
	if !found {
		return -1
	}
	return sum
}

// waitForNames waits until the node has loaded its view, and the view has this many names.
func (n *runningNode) waitForNames(t *testing.T, names float64) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for n.metricValue(t, "capacity", "") <= 0 || n.metricValue(t, "names", "") != names {
		if time.Now().After(deadline) {
			t.Fatalf("the view does not get %v names", names)
		}
		time.Sleep(time.Millisecond)
	}
}

func openLedger(t testing.TB, db testenv.SQL) *ledger.Ledger {
	t.Helper()
	sqlLedger := testenv.Need(ledger.Open(t.Context(), ledger.Config{URL: db.URL, Dir: db.Dir, Logger: slog.New(slog.DiscardHandler)}))(t)
	t.Cleanup(func() { testenv.NoError(t, sqlLedger.Close()) })
	return sqlLedger
}

func TestTwoNodesShareOneLedger(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger := openLedger(t, db)
		nodeA, nodeB := newNode(t, sqlLedger), newNode(t, sqlLedger)
		first, err := nodeA.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "Ada"})
		if err != nil || !first.New {
			t.Fatalf("guest: %+v, %v", first, err)
		}
		again, err := nodeB.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret})
		if err != nil || again.New || again.Player != first.Player {
			t.Errorf("at the other node: %+v, %v", again, err)
		}
		again, err = nodeB.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "\x00"})
		if err != nil || again.Player != first.Player {
			t.Errorf("a known device with an invalid nickname: %+v, %v", again, err)
		}
		claims, err := nodeB.Verify(t.Context(), first.Token)
		if err != nil {
			t.Fatalf("the other node refuses the token: %v", err)
		}
		if name, err := nodeB.Rename(t.Context(), claims, "Grace", identity.Requester{}); err != nil || name != "Grace" {
			t.Errorf("rename: %q, %v", name, err)
		}
		_, err = nodeA.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret + "2", Nickname: "grace"})
		taken, ok := errors.AsType[*identity.TakenError](err)
		if !ok || len(taken.Suggestions) != 3 {
			t.Errorf("a nickname that was claimed at the other node: %v", err)
		}
		laterNode := newNode(t, sqlLedger)
		if got, err := laterNode.Available(t.Context(), demo, "Grace", identity.Requester{}); err != nil || got.Available {
			t.Errorf("a node that starts later: %+v, %v", got, err)
		}
		if got, err := laterNode.Available(t.Context(), demo, "Ada", identity.Requester{}); err != nil || !got.Available {
			t.Errorf("the former nickname: %+v, %v", got, err)
		}
	})
}

func TestOnlyOneOfManyGuestsGetsANickname(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger := openLedger(t, db)
		nodes := []*identity.Registry{newNode(t, sqlLedger), newNode(t, sqlLedger)}
		errs := make([]error, 20)
		var calls sync.WaitGroup
		for i := range errs {
			calls.Go(func() {
				request := identity.GuestRequest{Game: demo, Device: fmt.Sprint(secret, i), Nickname: "Ada"}
				_, errs[i] = nodes[i%2].Guest(t.Context(), request)
			})
		}
		calls.Wait()
		winners := 0
		for _, err := range errs {
			switch {
			case err == nil:
				winners++
			case !errors.Is(err, identity.ErrNicknameTaken):
				t.Error(err)
			}
		}
		if winners != 1 {
			t.Errorf("%d guests have the nickname, want 1", winners)
		}
	})
}

func TestConcurrentEnsuresCreateOnePlayer(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger := openLedger(t, db)
		nodes := []*identity.Registry{newNode(t, sqlLedger), newNode(t, sqlLedger)}
		got := make([]identity.Player, 20)
		var calls sync.WaitGroup
		for i := range got {
			calls.Go(func() {
				player, err := nodes[i%2].Ensure(t.Context(), identity.Claims{Subject: "operator:17", Game: demo, Role: identity.RolePlayer})
				if err != nil {
					t.Error(err)
				}
				got[i] = player
			})
		}
		calls.Wait()
		for _, player := range got {
			if player != got[0] || player.ID != "operator:17" {
				t.Errorf("%+v and %+v", player, got[0])
			}
		}
	})
}

// Two nodes run on one ledger. A name that is claimed or renamed at one is in the
// view of the other. With its snapshot, a third node starts without reading all
// names.
func TestNodesReadEachOthersNames(t *testing.T) {
	testenv.EachSQLInParallel(t, func(t *testing.T, db testenv.SQL) {
		sqlLedger, snapshots := openLedger(t, db), identity.NewFakeSnapshots()
		nodeA, nodeB := start(t, sqlLedger, snapshots), start(t, sqlLedger, identity.NewFakeSnapshots())
		nodeA.waitForNames(t, 0)
		nodeB.waitForNames(t, 0)
		ada := testenv.Need(nodeA.Guest(t.Context(), identity.GuestRequest{Game: demo, Device: secret, Nickname: "Ada"}))(t)
		nodeB.waitForNames(t, 1)
		claims, err := nodeB.Verify(t.Context(), ada.Token)
		if err == nil {
			_, err = nodeB.Rename(t.Context(), claims, "Grace", identity.Requester{})
		}
		if err != nil {
			t.Fatal(err)
		}
		nodeA.waitForNames(t, 2)
		nodeA.stop()
		laterNode := start(t, sqlLedger, snapshots)
		laterNode.waitForNames(t, 2)
		if got := laterNode.metricValue(t, "snapshots_total", "loaded"); got != 1 {
			t.Errorf("%v snapshots loaded", got)
		}
		if got := laterNode.metricValue(t, "builds_total", ""); got != -1 {
			t.Errorf("%v views built", got)
		}
		if got, err := laterNode.Available(t.Context(), demo, "Ada", identity.Requester{}); err != nil || !got.Available {
			t.Errorf("the former name: %+v, %v", got, err)
		}
		if falsePositives, taken := laterNode.metricValue(t, "lookups_total", "false_positive"), laterNode.metricValue(t, "lookups_total", "taken"); falsePositives != 1 || taken != 0 {
			t.Errorf("%v false positives, %v taken", falsePositives, taken)
		}
	})
}
