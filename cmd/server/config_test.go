package main

import (
	"strings"
	"testing"
)

// All that is wrong is told at once, in a file by its lines.
func TestAllFaultsAreToldAtOnce(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []string
	}{
		{
			"unknown fields and wrong types",
			"listn: x\ngames:\n  demo:\n    time_zoned: UTC\n    banks: builtin\n    duel: {questions: many, rated: 7, time: 1}\n" +
				"    arena: 5\n    leaderboards: {orders: value, weights: {score: 1.5}}\nlimits: {connections: [], messages_per_second: fast}\ndrain: [1s]\n",
			[]string{
				"line 1: unknown field listn", "line 4: unknown field time_zoned", "line 5: the text `builtin` is not a list",
				"line 6: the text `many` is not a whole number", "line 6: the number `7` is not true or false", "line 6: unknown field time",
				"line 7: the number `5` is not a section of fields", "line 8: the text `value` is not a list", "line 8: score: the number `1.5` is not a whole number",
				"line 9: a list is not a whole number", "line 9: the text `fast` is not a number", "line 10: a list is not a text",
			},
		},
		{
			"wrong values",
			"listen: nowhere\nops_listen: 127.0.0.1:99999\nredis: http://cache\ndatabase: mysql://db\ndata: \"\"\ndrain: soon\norigins: [example.com, https://example.com/x]\n" +
				"limits: {connections: 0, messages_per_second: .nan, guests_per_minute_per_address: -1}\n" +
				"games:\n  \"a b\": {}\n  demo:\n    time_zone: Mars/Phobos\n    banks: []\n    keys: [{id: k, alg: RS256, secret_file: x}]\n" +
				"    duel: {questions: 0, time_limit_ms: 1, countdown_ms: -1, reveal_ms: -1, bot_after_ms: -1, pair_limit_per_day: -1}\n" +
				"    arena: {time_limit_ms: 1, countdown_ms: -1, reveal_ms: -1, max_players: 1, team_lockout_ms: -1}\n" +
				"    leaderboards: {windows: [decade, all, all], orders: [luck], weights: {score: -1}, min_answers: -1}\n",
			[]string{
				`listen: "nowhere"`, `ops_listen: "127.0.0.1:99999"`, "redis:", "database:", "drain:", `"example.com"`, `"https://example.com/x"`,
				"limits.connections:", "limits.messages_per_second:", "limits.guests_per_minute_per_address:", `game "a b"`, "games.demo.time_zone:",
				"games.demo.banks:", "games.demo.keys:", "games.demo.duel.questions:", "games.demo.duel.time_limit_ms:", "games.demo.duel.countdown_ms:",
				"games.demo.duel.reveal_ms:", "games.demo.duel.bot_after_ms:", "games.demo.duel.pair_limit_per_day:", "games.demo.arena.time_limit_ms:",
				"games.demo.arena.countdown_ms:", "games.demo.arena.reveal_ms:", "games.demo.arena.max_players:", "games.demo.arena.team_lockout_ms:",
				`"decade"`, `"all" twice`, `"luck"`, "weight score -1", "min_answers -1",
			},
		},
		{
			"wrong keys",
			"games: {demo: {keys: [{id: a, alg: RS256, secret_file: laststand.yaml}, {id: b, alg: HS256, secret_file: none.key}, {id: c, alg: HS256}]}}",
			[]string{`key "a": unknown alg "RS256"`, `key "b": its file cannot be read`, `key "c": it needs a secret_file`},
		},
		{
			"wrong behaviours",
			"games: {demo: {behaviours: {max_len: -4, overflow: zzz, batch: {max_size: 129, flush_interval: soon}, max_age: 4m, rate: {per_second: -1, burst: -1}," +
				" sink: {type: mail, url: \"ftp://x\", format: xml}}}}",
			[]string{
				"behaviours.max_len:", "behaviours.overflow:", "behaviours.batch.max_size:", "behaviours.batch.flush_interval:", "behaviours.max_age:",
				"behaviours.rate.per_second:", "behaviours.rate.burst:", "behaviours.sink.type:", "behaviours.sink.url:", "behaviours.sink.format:",
			},
		},
		{"no game", "games: {}", []string{"at least one game"}},
		{"games without one", "games:", []string{"at least one game"}},
		{"one address twice", "listen: 127.0.0.1:7000\nops_listen: 127.0.0.1:7000", []string{"ops_listen:", "one of its own"}},
		{"an empty address", "listen: \"\"", []string{`listen: ""`}},
		{"no folder", "data: \"\"", []string{"data:"}},
		{"no YAML", "games: [", []string{"line 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			code, out, errs := command("config", "--config="+configFile(t, tt.file))
			if code != 1 || out != "" {
				t.Errorf("ended with %d and printed %q", code, out)
			}
			for _, want := range tt.want {
				if !strings.Contains(errs, want) {
					t.Errorf("it does not say %q", want)
				}
			}
			if t.Failed() || strings.Contains(errs, "main.") {
				t.Errorf("it says\n%s", errs)
			}
		})
	}
}
