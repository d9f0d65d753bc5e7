package identity

import (
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promauto"
)

// wishMetrics are what becomes of nicknames.
type wishMetrics struct {
	refused         *prometheus.CounterVec // by game and reason
	unfound, unkept *prometheus.CounterVec
	unprotected     *prometheus.CounterVec
	outdated        prometheus.Gauge
}

// The reasons of refused nicknames.
const (
	reasonInvalid = "invalid"
	reasonWord    = "word"
	reasonTaken   = "taken"
	reasonOffered = "offered"
	reasonRules   = "rules"
)

func newWishMetrics(r prometheus.Registerer) wishMetrics {
	on := promauto.With(r)
	counter := func(name, help string, labels ...string) *prometheus.CounterVec {
		return on.NewCounterVec(prometheus.CounterOpts{Namespace: "laststand", Subsystem: "nickname", Name: name, Help: help}, append([]string{"game"}, labels...))
	}
	return wishMetrics{
		refused: counter("refused_total", "Nicknames refused to who claimed or asked for them, by reason: no name can be like this, a refused word, "+
			"another player's, just suggested to somebody else, spelt by rules of before (see rules_outdated).", "reason"),
		unfound:     counter("suggestions_unfound_total", "Times that no three free nicknames were found to suggest."),
		unprotected: counter("unprotected_total", "Nicknames that count as the same as an older one since the rules changed: their players keep them, and others may claim the like."),
		outdated: on.NewGauge(prometheus.GaugeOpts{Namespace: "laststand", Subsystem: "nickname", Name: "rules_outdated",
			Help: "1 where the ledger's nicknames are spelt by newer rules than this node's program: it gives none out."}),
		unkept: counter("suggestions_unkept_total", "Times that it could not be kept or asked whom a nickname was suggested to: Redis was out of reach."),
	}
}
