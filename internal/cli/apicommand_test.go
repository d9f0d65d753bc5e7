package cli

import (
	"encoding/json"
	"strings"
	"testing"
)

// Flags and arguments stand in the path, the query and the body of the request.
func TestACommandMakesItsRequestFromItsFlags(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"bans list --game demo":                                           "GET /games/demo/bans?limit=200 null",
		"bans add --game a/b --player {game} --reason x":                  `PUT /games/a%2Fb/bans/%7Bgame%7D {"reason":"x"}`,
		"bans remove --game demo --player p_1":                            "DELETE /games/demo/bans/p_1 null",
		"keys rotate":                                                     "POST /keys/rotate null",
		"keys retire --game demo k_1":                                     "DELETE /games/demo/keys/k_1 null",
		"audit list --game demo":                                          "GET /audit-log?limit=200&game=demo null",
		"tasks list --state all --topic mail/a":                           "GET /tasks?limit=200&topic=mail%2Fa null",
		"task-queues list --busy --kind mail":                             "GET /task-queues?limit=200&busy=true&kind=mail null",
		"queue peek --game demo --limit 0":                                "GET /games/demo/queue/items?limit=0 null",
		"queue set-max-len --game demo 0":                                 `PATCH /games/demo/queue {"max_len":0}`,
		"tokens list-revoked --admins --kind subject":                     "GET /revocations?limit=200&kind=subject null",
		"tokens revoke --admins --subject ops/2 --reason x":               `PUT /revocations/subject/ops%2F2 {"reason":"x"}`,
		"tokens restore --game demo --token-id j1":                        "DELETE /games/demo/revocations/token/j1 null",
		"queue drain --game demo --discard":                               `POST /games/demo/queue/drain {"discard":true}`,
		"matches void --game demo --match m_1 --question 0 --reason x":    `PUT /games/demo/matches/m_1/voids/0 {"reason":"x"}`,
		"webhooks disable --game demo --reason x rewards":                 `POST /games/demo/webhooks/rewards/disable {"reason":"x"}`,
		"boards disqualify --game demo --match m_1 --reason x --player p": `POST /games/demo/corrections {"match":"m_1","player":"p","reason":"x"}`,
	} {
		parser, err := newParser(new(commandLine), Output{}, func(int) {})
		if err != nil {
			t.Fatal(err)
		}
		command, err := parser.Parse(strings.Fields(line))
		if err != nil {
			t.Errorf("%s: %v", line, err)
			continue
		}
		node := command.Selected()
		r := apiCommands[node.Path()].newRequest(node)
		body, err := json.Marshal(r.body)
		if got := r.method + " " + r.path + " " + string(body); err != nil || got != want {
			t.Errorf("%s requests %s, want %s (%v)", line, got, want, err)
		}
	}
}

// Each entry of the table is a command without a method Run of its own.
func TestEveryAPICommandIsACommand(t *testing.T) {
	t.Parallel()
	found := 0
	for _, leaf := range commandTree(t).Leaves(false) {
		if _, isAPI := apiCommands[leaf.Path()]; isAPI == leaf.Target.Addr().MethodByName("Run").IsValid() {
			t.Errorf("server %s needs either an entry in apiCommands or a method Run", leaf.Path())
		} else if isAPI {
			found++
		}
	}
	if found != len(apiCommands) {
		t.Errorf("%d of %d entries are commands", found, len(apiCommands))
	}
}
