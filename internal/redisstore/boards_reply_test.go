package redisstore

import (
	"reflect"
	"testing"

	"laststand/internal/leaderboard"
	"laststand/internal/redisx"
	"laststand/internal/testenv"
)

// Every reply of Redis is either refused or read as it was written.
func FuzzReplies(f *testing.F) {
	f.Add("7", "-0.5", "0000000000000003 1 2 3 4 5 6 7", `{"Watermark":{"Epoch":"e","Pos":7},"Rolling":{"7d":{"Lo":["2026-11-14","2026-11-15"],"Cursor":[0,9],"Served":0}}}`)
	f.Fuzz(func(t *testing.T, number, key, packed, packedProgress string) {
		slice, err := parseSlice(redisx.Reply{number, int64(0), []any{"0000000000000003:p", key}, []any{packed}})
		if err == nil && packEntry(slice.Entries[0].BoardEntry) != packEntry(mustUnpack(t, packed)) {
			t.Fatalf("%q became %+v", packed, slice.Entries[0])
		}
		if _, err := parseStandings(redisx.Reply{[]any{number, key}}); err == nil {
			t.Fatal("a reply with too few values was accepted")
		}
		reply := redisx.Reply{int64(1), []any{packed, nil}, int64(2), []any{key, key}}
		inspection := leaderboard.Inspection{Sizes: map[leaderboard.SizeKey]int64{}, Entries: map[leaderboard.EntryKey]leaderboard.InspectedEntry{}}
		err = addInspected(inspection, leaderboard.Board{}, reply, []leaderboard.Order{leaderboard.ByScore}, []string{"p", "q"})
		if err == nil && packed != "" && key != "" && (len(inspection.Entries) != 1 || len(inspection.Entries[leaderboard.EntryKey{ID: "p"}].Keys) != 1) {
			t.Fatalf("%q became %+v", packed, inspection)
		}
		if progress, err := parseProgress(packedProgress); err == nil {
			checkProgress(t, progress)
		}
	})
}

// checkProgress checks that progress is the same after it was encoded and decoded.
func checkProgress(t *testing.T, progress leaderboard.Progress) {
	t.Helper()
	fields := testenv.Need(stateFields(progress, false, 0))(t)
	state := map[any]any{}
	for i := 0; i < len(fields); i += 2 {
		state[fields[i]] = fields[i+1]
	}
	parsed, err := parseProgress(string(state["progress"].([]byte)))
	if err != nil || !reflect.DeepEqual(parsed, progress) {
		t.Fatalf("decoded progress %+v, %v, want %+v", parsed, err, progress)
	}
}

func mustUnpack(t *testing.T, packed string) leaderboard.BoardEntry {
	t.Helper()
	entry := testenv.Need(unpackEntry("p", packed))(t)
	return entry
}
