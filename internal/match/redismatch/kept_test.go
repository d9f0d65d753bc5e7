package redismatch

import (
	"testing"
	"time"
)

// The result of a settled match can be offered to the ledger again for some minutes, as often as
// needed. A result that waits is not offered twice.
func TestSettledResultsAreOfferedAgain(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		m.settleDuel()
		ttl := m.client.PTTL(m.Context(), m.keys.kept()).Val()
		if kept := keptTTLMS * time.Millisecond; ttl > kept || ttl < kept-time.Minute || ttl > settledTTLMS*time.Millisecond {
			m.Errorf("the result is kept for %v", ttl)
		}
		for range 2 {
			if pending, err := m.IsPending(m.Context(), m.plan.ID); pending || err != nil {
				m.Fatal("a settled result waits", err)
			}
			offered := m.offerAgain() // the cluster has matches of other tests, too
			pending, err := m.IsPending(m.Context(), m.plan.ID)
			if offered < 1 || !pending || err != nil {
				m.Errorf("%d offered, waiting %v, %v", offered, pending, err)
			}
			results, err := m.readResults(m.Context(), m.partition(), 1000)
			for _, result := range results {
				if result.Match == m.plan.ID && (len(result.Standings) == 0 || err != nil) {
					m.Errorf("the result is %+v, %v", result, err)
				}
			}
			m.markSettled()
		}
		m.client.Del(m.Context(), m.keys.kept())
		m.offerAgain()
		if pending, err := m.IsPending(m.Context(), m.plan.ID); pending || err != nil {
			m.Error("a result that is no longer kept waits", err)
		}
	})
}

func (m *testMatch) offerAgain() int {
	m.Helper()
	offered, err := m.OfferAgain(m.Context())
	if err != nil {
		m.Fatal(err)
	}
	return offered
}

func (m *testMatch) partition() int {
	for p := range Partitions {
		if partitionKeys(p).tag == m.keys.tag {
			return p
		}
	}
	return -1
}
