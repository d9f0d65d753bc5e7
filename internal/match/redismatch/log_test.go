package redismatch

import (
	"fmt"
	"strings"
	"testing"

	"laststand/internal/match"
	"laststand/internal/redisx"
)

// A long log is read completely, in pages of about 64 KiB.
func TestLongLogIsReadInPages(t *testing.T) {
	runOnEachRedis(t, func(m *testMatch) {
		const frames = 100
		for i := range frames {
			m.appendFrame(fmt.Sprintf("%d %s", i+1, strings.Repeat("x", 500*(i%30))))
		}
		for _, after := range []int64{0, 1, 7, 8, 9, 50, 92, 93, 100, 101, 102} {
			view, err := m.Read(m.Context(), match.ReadQuery{Match: m.plan.ID, AfterSeq: after})
			if err != nil || view.Seq != frames+1 || int64(len(view.Frames)) != max(view.Seq-after, 0) {
				m.Fatalf("after %d: %d frames of %d, %v", after, len(view.Frames), view.Seq, err)
			}
			for i, frame := range view.Frames {
				if number := after + int64(i); number > 0 && !strings.HasPrefix(string(frame), fmt.Sprint(number, " ")) {
					m.Fatalf("frame %d after %d is %.20s", i, after, frame)
				}
			}
		}
		k := m.keys
		reply, err := readMatchScript.Run(m.Context(), m.client, []string{
			k.match(), k.plan(), k.log(), k.answers(), k.totals(), k.seats(), k.teams(), k.rank(), k.top(),
		}, 0, 0, 0, "", 0, 0, 0, 0).Slice()
		if err != nil {
			m.Fatal(err)
		}
		if size := len(strings.Join(redisx.Reply(reply).Texts(2), "")); size < pageBytes || size > pageBytes+8*15_000 {
			m.Errorf("one command gives %d bytes", size)
		}
	})
}

// appendFrame appends a frame to the log.
func (m *testMatch) appendFrame(frame string) {
	m.Helper()
	err := m.client.RPush(m.Context(), m.keys.log(), frame).Err()
	if err == nil {
		err = m.client.HIncrBy(m.Context(), m.keys.match(), "seq", 1).Err()
	}
	if err != nil {
		m.Fatal(err)
	}
}
