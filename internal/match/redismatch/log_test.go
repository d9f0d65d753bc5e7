package redismatch

import (
	"fmt"
	"strings"
	"testing"

	"laststand/internal/lua"
	"laststand/internal/match"
)

// A long log is read completely, in pages of about 64 KiB.
func TestALongLogIsReadInPages(t *testing.T) {
	each(t, func(p *testMatch) {
		const frames = 100
		for i := range frames {
			p.push(fmt.Sprintf("%d %s", i+1, strings.Repeat("x", 500*(i%30))))
		}
		for _, after := range []int64{0, 1, 7, 8, 9, 50, 92, 93, 100, 101, 102} {
			v, err := p.Read(p.Context(), match.ReadQuery{Match: p.plan.ID, After: after})
			if err != nil || v.Seq != frames+1 || int64(len(v.Frames)) != max(v.Seq-after, 0) {
				p.Fatalf("after %d: %d frames of %d, %v", after, len(v.Frames), v.Seq, err)
			}
			for i, frame := range v.Frames {
				if number := after + int64(i); number > 0 && !strings.HasPrefix(string(frame), fmt.Sprint(number, " ")) {
					p.Fatalf("frame %d after %d is %.20s", i, after, frame)
				}
			}
		}
		k := p.keys
		reply, err := readScript.Run(p.Context(), p.client, []string{
			k.match(), k.plan(), k.log(), k.answers(), k.totals(), k.nodes(), k.seats(), k.teams(), k.rank(), k.top(),
		}, 0, 0, 0, "", 0, 0, 0, 0).Slice()
		if err != nil {
			p.Fatal(err)
		}
		if size := len(strings.Join(lua.Reply(reply).Texts(2), "")); size < pageBytes || size > pageBytes+8*15_000 {
			p.Errorf("one command gives %d bytes", size)
		}
	})
}

// push appends a frame to the log.
func (p *testMatch) push(frame string) {
	p.Helper()
	err := p.client.RPush(p.Context(), p.keys.log(), frame).Err()
	if err == nil {
		err = p.client.HIncrBy(p.Context(), p.keys.match(), "seq", 1).Err()
	}
	if err != nil {
		p.Fatal(err)
	}
}
