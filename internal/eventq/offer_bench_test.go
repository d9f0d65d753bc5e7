package eventq

import (
	"encoding/json"
	"testing"
)

func BenchmarkOffer(b *testing.B) {
	g := &game{Policy: Policy{Game: "a", MaxLen: 1 << 40, MaxAgeMS: MaxAgeMS, Report: []string{Online, Offline}}, partition: &partition{}, sink: &sink{}}
	s := &intake{shared: &shared{Config: Config{Now: func() int64 { return 1_700_000_000_000 }}, games: map[string]*game{"a": g}, ids: newIDGenerator()}, filled: make(chan *game, 1)}
	offered := Behaviour{Type: Online, Player: "p_01hzy3k9w8", Session: "s_01hzy3k9w8", Account: Guest, Data: json.RawMessage(`{"match":"m_01hzy3k9w8","rank":1}`)}
	b.ReportAllocs()
	for b.Loop() {
		s.Offer("a", offered)
		if len(g.buffer.items) == MaxPush {
			g.buffer.nextPush(s.ids)
			g.buffer.finishPush()
			s.buffered.Store(0)
		}
	}
}
