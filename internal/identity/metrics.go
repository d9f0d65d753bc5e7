package identity

import (
	"errors"
	"sync/atomic"

	"github.com/prometheus/client_golang/prometheus"

	"laststand/internal/metric"
)

// refusalReason is a reason for refusing a token, with its label in metrics.
type refusalReason struct {
	label string
	err   error
}

// refusalReasons are all reasons. An error may match several entries; the first one counts.
var refusalReasons = []refusalReason{
	{"no_key", ErrTokenNoKey}, {"unknown_key", ErrTokenKey}, {"algorithm", ErrTokenAlg}, {"signature", ErrTokenSignature},
	{"no_expiry", ErrTokenNoExpiry}, {"malformed", ErrTokenMalformed}, {"expired", ErrTokenExpired}, {"too_long", ErrTokenLifetime},
	{"future", ErrTokenNotYetValid}, {"audience", ErrTokenAudience}, {"game", ErrTokenGame}, {"role", ErrTokenRole}, {"subject", ErrTokenSubject},
	{"pi", ErrTokenPI}, {"erased", ErrErased}, {"unknown_guest", ErrUnknownGuest}, {"revoked", ErrTokenRevoked}, {"banned", ErrBanned},
}

// findReason returns the reason of a refusal, nil if the error is none.
func findReason(err error) *refusalReason {
	for i := range refusalReasons {
		if errors.Is(err, refusalReasons[i].err) {
			return &refusalReasons[i]
		}
	}
	return nil
}

// newRefusalCounter registers the counter of refused tokens.
func newRefusalCounter(r prometheus.Registerer) *prometheus.CounterVec {
	var labels []string
	for _, reason := range refusalReasons {
		labels = append(labels, reason.label)
	}
	return metric.For(r, "laststand_").CountersOf("token_refusals_total", "Tokens that this node refused, by reason.", "reason", labels...)
}

type revocationMetrics struct {
	revocations *prometheus.GaugeVec // revocations in force, by kind
	failures    prometheus.Counter   // failed reads
	readAt      atomic.Int64         // when this node last had all changes, epoch ms
}

func newRevocationMetrics(r prometheus.Registerer, now func() int64) *revocationMetrics {
	factory := metric.For(r, "laststand_")
	m := &revocationMetrics{
		revocations: factory.Gauges("bans", "Bans, revocations and erasures in force that this node knows, by kind.", "kind"),
		failures:    factory.Counter("bans_read_failures_total", "Reads of bans and revocations that failed; those that the node knows stay in force."),
	}
	factory.GaugeFunc("bans_lag_seconds", "Time since this node last knew all bans and revocations.", func() float64 { return float64(now()-m.readAt.Load()) / 1000 })
	m.setCounts(nil)
	return m
}

func (m *revocationMetrics) setCounts(counts map[RevocationKind]int) {
	for _, kind := range RevocationKinds() {
		m.revocations.WithLabelValues(string(kind)).Set(float64(counts[kind]))
	}
}
