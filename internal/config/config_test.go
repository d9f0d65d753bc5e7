package config

import (
	"fmt"
	"strings"
	"testing"
)

// The error lists all problems of a configuration, problems of a file with their lines.
func TestAllConfigurationErrorsAreReportedTogether(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, file string
		want       []string
	}{
		{
			"unknown fields and wrong types",
			"listn: x\ngames:\n  demo:\n    time_zoned: UTC\n    banks: builtin\n    duel: {questions: many, rated: 7, time: 1, count_same_address: 5}\n" +
				"    arena: 5\n    leaderboards: {orders: value, weights: {score: 1.5}}\nlimits: {connections: [], messages_per_second: fast, dry_run: maybe}\ndrain: [1s]\n",
			[]string{
				"line 1: unknown field listn; did you mean listen?", "line 4: unknown field time_zoned in games.demo; did you mean time_zone?",
				"line 5: games.demo.banks: the text `builtin` is not a list", "line 6: games.demo.duel.questions: the text `many` is not a whole number",
				"line 6: games.demo.duel.rated: the number `7` is not true or false", "line 6: games.demo.duel.count_same_address: the number `5` is not true or false",
				"line 6: unknown field time in games.demo.duel\n", "line 7: games.demo.arena: the number `5` is not a section of fields",
				"line 8: games.demo.leaderboards.orders: the text `value` is not a list", "line 8: games.demo.leaderboards.weights.score: the number `1.5` is not a whole number",
				"line 9: limits.dry_run: the text `maybe` is not true or false", "line 9: limits.connections: a list is not a whole number",
				"line 9: limits.messages_per_second: the text `fast` is not a number", "line 10: drain: a list is not a text",
			},
		},
		{
			"wrong fields beside wrong values",
			"games:\n  demo: {max_token_ttl: forever, duel: {questions: 5000, time_limit: 3}, arena: [max_players]}\n  b: {banks: [b], banks: [c]}\n",
			[]string{
				"line 2: unknown field time_limit in games.demo.duel; did you mean time_limit_ms?", "line 2: games.demo.arena: a list is not a section of fields",
				"line 3: mapping key \"banks\" already defined", "games.demo.duel.questions: 5000 is out of range", `games.demo.max_token_ttl: "forever"`,
			},
		},
		{
			"merged sections",
			"x: &x {questions: many}\ngames:\n  demo: {duel: &d {tim: 1}}\n  b: {duel: {<<: *d}}\n  c: {duel: {<<: [*d]}}\n",
			[]string{"unknown field x\n", "unknown field tim in games.demo.duel", "unknown field tim in games.b.duel", "unknown field tim in games.c.duel"},
		},
		{
			"wrong values",
			"listen: nowhere\nops_listen: 127.0.0.1:99999\nredis: http://cache\ndatabase: mysql://db\ndata: \"\"\ndrain: soon\norigins: [example.com, https://example.com/x]\n" +
				"limits: {connections: 0, messages_per_second: .nan, guests_per_minute_per_address: -1,\n" +
				"  guests_per_day_per_address: -1, guest_requests_per_minute_per_address: 1000001, erasures_per_minute_per_address: -1,\n" +
				"  code_attempts_per_hour_per_address: 1000001, dry_run: [reads_per_second_per_address, everything],\n" +
				"  connections_per_address: -1, hellos_per_minute: -1, hellos_per_minute_per_address: -1, max_concurrent_requests: -1, max_scheduler_lag_ms: -1, max_memory_mib: -1, gc_headroom_mib: -1,\n" +
				"  early_forfeits_per_hour_per_player: -1, early_forfeits_per_hour_per_address: -1, matches_per_day_per_player: -1, matches_per_day_per_address: 1000001}\n" +
				"trusted_proxies: [proxy, 0.0.0.0/0]\nproxy_protocol: maybe\n" +
				"games:\n  \"a b\": {}\n  demo:\n    time_zone: Mars/Phobos\n    banks: []\n    keys: [{id: k, alg: RS256, secret_file: x}]\n" +
				"    token_audience: \"a b\"\n    max_token_ttl: 1s\n" +
				"    duel: {questions: 0, time_limit_ms: 1, countdown_ms: -1, reveal_ms: -1, bot_after_ms: -1, pair_limit_per_day: -1}\n" +
				"    arena: {time_limit_ms: 1, countdown_ms: -1, reveal_ms: -1, max_players: 1, team_lockout_ms: -1}\n" +
				"    leaderboards: {windows: [decade, all, all], orders: [luck], weights: {score: -1}, min_answers: -1}\n",
			[]string{
				`listen: "nowhere"`, `ops_listen: "127.0.0.1:99999"`, "redis:", "database:", "drain:", `"example.com"`, `"https://example.com/x"`,
				"limits.connections:", "limits.messages_per_second:", "limits.guests_per_minute_per_address:",
				"limits.guests_per_day_per_address:", "limits.guest_requests_per_minute_per_address:", "limits.erasures_per_minute_per_address:",
				"limits.code_attempts_per_hour_per_address:", `limits.dry_run: "everything" is not a rule`,
				"limits.connections_per_address:", "limits.hellos_per_minute:", "limits.hellos_per_minute_per_address:", "limits.max_concurrent_requests:",
				"limits.early_forfeits_per_hour_per_player:", "limits.early_forfeits_per_hour_per_address:", "limits.matches_per_day_per_player:", "limits.matches_per_day_per_address:",
				"limits.max_scheduler_lag_ms:", "limits.max_memory_mib:", "limits.gc_headroom_mib:", `"proxy"`, `"0.0.0.0/0" trusts all addresses`, `proxy_protocol: "maybe"`, `game "a b"`, "games.demo.time_zone:",
				"games.demo.banks:", "games.demo.keys:", "games.demo.duel.questions:", "games.demo.duel.time_limit_ms:", "games.demo.duel.countdown_ms:",
				"games.demo.token_audience:", "games.demo.max_token_ttl:", "games.demo.duel.reveal_ms:", "games.demo.duel.bot_after_ms:", "games.demo.duel.pair_limit_per_day:", "games.demo.arena.time_limit_ms:",
				"games.demo.arena.countdown_ms:", "games.demo.arena.reveal_ms:", "games.demo.arena.max_players:", "games.demo.arena.team_lockout_ms:",
				`"decade"`, `"all" is listed twice`, `"luck"`, "weight score -1", "min_answers -1",
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
				" report: [online, answer], sink: {type: mail, url: \"ftp://x\", format: xml}}}}",
			[]string{
				"behaviours.max_len:", "behaviours.overflow:", "behaviours.batch.max_size:", "behaviours.batch.flush_interval:",
				`behaviours.max_age: "4m" is not a duration between 1ms and 2m55s`,
				"behaviours.rate.per_second:", "behaviours.rate.burst:", `behaviours.report: "answer" is not supported; use one of [online offline match_start match_end]`,
				`behaviours.sink.type: "mail" is not supported; use one of [file webhook nppa]`, "behaviours.sink.url:", "behaviours.sink.format:",
			},
		},
		{
			"wrong behaviours of other kinds",
			"games: {demo: {behaviours: {overflow: 1, batch: 128, hot: maybe, report: online, rate: {per_second: fast, burst: 1.5}, sink: {typ: file, max_file_mib: []}}}}",
			[]string{
				"the number `128` is not a section", "the text `maybe` is not true or false", "the text `online` is not a list", "the text `fast` is not a number",
				"burst: the number `1.5`", "unknown field typ", "a list is not a whole number",
			},
		},
		{
			"behaviours that wait too long",
			"games: {a: {behaviours: {max_age: 176s}}, b: {behaviours: {batch: {flush_interval: 30s}, max_age: 30s}}, c: {behaviours: {batch: {flush_interval: 1us}, rate: {per_second: .nan}}}}",
			[]string{
				`games.a.behaviours.max_age: "176s" is not a duration between 1ms and 2m55s`, `games.b.behaviours.batch.flush_interval: "30s" is not less than max_age`,
				`games.c.behaviours.batch.flush_interval: "1us" is not a duration between 1ms and 2m55s`, "games.c.behaviours.rate.per_second: NaN",
			},
		},
		{
			"invalid sinks",
			"games:\n" +
				"  file: {behaviours: {sink: {max_file_mib: -1, max_files: 1001, url: \"https://x\", secret_file: k, format: standard-webhooks, allow_private: true, app_id: a, biz_id: b, test_code: c}}}\n" +
				"  hook: {behaviours: {sink: {type: webhook, path: x, app_id: a}}}\n" +
				"  bare: {behaviours: {sink: {type: nppa}}}\n" +
				"  nppa: {behaviours: {report: [online, match_end], sink: {type: nppa, app_id: a/b, biz_id: \"\", test_code: \"?\", secret_file: none.key, format: cloudevents-batch}}}\n" +
				"  one: {behaviours: {sink: {path: log/x}}}\n  two: {behaviours: {sink: {path: log/y/../x}}}\n",
			[]string{
				"file.behaviours.sink.max_file_mib: -1", "file.behaviours.sink.max_files: 1001", "file.behaviours.sink.url: a sink of type file does not have this key",
				"file.behaviours.sink.secret_file:", "file.behaviours.sink.format:", "file.behaviours.sink.allow_private:", "file.behaviours.sink.app_id:",
				"file.behaviours.sink.biz_id:", "file.behaviours.sink.test_code:",
				"hook.behaviours.sink.url: a sink of type webhook needs this key", "hook.behaviours.sink.path: a sink of type webhook does not have this key", "hook.behaviours.sink.app_id:",
				"bare.behaviours.sink.app_id:", "bare.behaviours.sink.biz_id:", "bare.behaviours.sink.secret_file: a sink of type nppa needs this key",
				`nppa.behaviours.report: "match_end" is not supported; use one of [online offline]`, "nppa.behaviours.sink.app_id:", "nppa.behaviours.sink.biz_id:",
				"nppa.behaviours.sink.test_code:", "nppa.behaviours.sink.format:", "nppa.behaviours.sink.secret_file: the file cannot be read",
				"games.two.behaviours.sink.path: log/y/../x is the file of game one",
			},
		},
		{
			"invalid webhooks",
			"games:\n  many: {webhooks: [" + strings.Repeat(`{name: a, url: "https://x"}, `, 2) + "]}\n" +
				"  demo:\n    webhooks:\n" +
				"      - {name: a b, url: \"https://x\"}\n      - {name: port, url: \"https://x:65536/y\"}\n      - {name: none, url: \"https://x:0\"}\n" +
				"      - {name: host, url: \"https://:443/y\"}\n      - {name: twice, url: \"https://x\", events: [day.sealed, match.settled, day.sealed]}\n" +
				"      - {name: other, url: \"https://x\", events: [webhook.ping]}\n      - {name: deaf, url: \"https://x\", events: []}\n" +
				"      - {name: key, url: \"https://x\", secret_file: none.key}\n",
			[]string{
				`webhook "a" of game "many": the game has that name twice`, `webhook "a b" of game "demo": its name must have`,
				"webhooks.port.url: the port of the URL is out of range", "webhooks.none.url: the port of the URL is out of range", "webhooks.host.url: the URL is not of the form http://host/path or https://host/path",
				`webhook "twice" of game "demo": it has the event "day.sealed" twice`, `webhook "other" of game "demo": unknown event "webhook.ping"`, "webhooks.deaf.events: the list is empty",
				"webhooks.key.secret_file: the file cannot be read",
			},
		},
		{
			"wrong names",
			"games:\n  a: {names: {blocklists: [fr], blocklist_files: [none.txt, laststand.yaml], allowed_words: [x]}}\n  b: {names: {blocklist_files: words.txt, forbid: [x]}}\n",
			[]string{"line 3: games.b.names.blocklist_files: the text `words.txt` is not a list", "line 3: unknown field forbid"},
		},
		{
			"wrong words",
			"games: {a: {names: {blocklists: [fr], blocklist_files: [none.txt, laststand.yaml], allowed_words: [x]}}, b: {names: {blocklists: [nl]}}}",
			[]string{
				"games.a.names: blocklist_files: none.txt: the file cannot be read", `blocklists: "fr" is unknown; use [staff_en staff_zh en zh]`, "blocklist_files: laststand.yaml: line 1: it is too long",
				`allowed_words: "x": it needs at least 2 letters`, `games.b.names: blocklists: "nl"`,
			},
		},
		{
			"wrong looks",
			"games:\n  a: {page: {title: \" \", logo: none.png, accent: \"#808080\", background: white, dark_background: \"#808080\"}}\n  b: {page: {title: " + strings.Repeat("x", 41) + ", logo: laststand.yaml}}\n",
			[]string{
				"games.a.page.title: it shows nothing", "games.a.page.logo: the file cannot be read", "games.a.page.accent: text on #808080 has too little contrast: 4.14:1 in #10222a",
				`games.a.page.background: "white" is not a colour`, "games.a.page.dark_background: with #808080, ", "games.b.page.title: it is too long, at most 40 characters", "games.b.page.logo: laststand.yaml: the file is no PNG or JPEG image",
			},
		},
		{
			"wrong retention",
			"games:\n  a: {retention: {matches_days: 6, answers_days: -1}}\n  b: {retention: {matches_days: 36501}}\n  c: {retention: {answers_days: 1, matches_days: 7}}\n",
			[]string{
				"games.a.retention.matches_days: 6 is out of range; use 7 or more days, or 0 to keep matches for good",
				"games.a.retention.answers_days: -1 is out of range; use 0 to 36500", "games.b.retention.matches_days: 36501 is out of range",
			},
		},
		{"no game", "games: {}", []string{"declare at least one game"}},
		{"games without a value", "games:", []string{"declare at least one game"}},
		{"one address twice", "listen: 127.0.0.1:7000\nops_listen: 127.0.0.1:7000", []string{"ops_listen:", "use two different addresses"}},
		{"an empty address", "listen: \"\"", []string{`listen: ""`}},
		{"no folder", "data: \"\"", []string{"data:"}},
		{"no YAML", "games: [", []string{"line 1"}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			c, err := Read(configFile(t, tt.file))
			if err == nil {
				err = c.Validate()
			}
			stderr := fmt.Sprint(err)
			for _, want := range tt.want {
				if !strings.Contains(stderr, want) {
					t.Errorf("the error does not contain %q", want)
				}
			}
			if t.Failed() || strings.Contains(stderr, "config.") {
				t.Errorf("the error is\n%s", stderr)
			}
		})
	}
}
