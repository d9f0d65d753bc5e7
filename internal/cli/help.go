package cli

import (
	"strings"

	"github.com/alecthomas/kong"
)

// callsServer is a sentence in the help of all groups of commands that call the admin API.
const callsServer = "The command calls the admin API of the running server at --ops-listen."

// help is what `--help` prints about a command after its first sentence.
type help struct{ text, examples string }

// helpByCommand has the help of each command, by its words.
var helpByCommand = map[string]help{
	"serve": {"", "server --listen :8080 --redis redis://cache:6379 --database postgres://laststand@db/laststand"},
	"bank":  {"", "server bank check builtin"},
	"bank import": {"The command lists skipped questions with line and reason. A running server uses new questions within seconds.",
		"server bank import --bank trivia --lang en questions.gift"},
	"bank check": {"The command exits with 1 if it finds an error. Warnings do not count.",
		"server bank check --lang en questions.gift"},
	"bank export": {"`server bank import` reads the output, and loses nothing.",
		"server bank export trivia --out trivia.json"},
	"boards": {callsServer, "server boards verify --game demo"},
	"boards verify": {"The command prints each difference, and exits with 1 if there is one.",
		"server boards verify --game demo"},
	"boards rebuild": {"The server serves the current leaderboards until the new ones are complete.",
		"server boards rebuild --game demo --wait"},
	"boards disqualify": {"The command adds a correction to the ledger, which takes effect on all leaderboards, totals and days. Running it again changes nothing.",
		"server boards disqualify --game demo --match m_1 --player p_42 --reason 'two accounts'"},
	"matches": {callsServer, "server matches void --game demo --match m_1 --question 3 --reason 'two right answers'"},
	"matches void": {"Scores, ranks, reports and leaderboards change as if the match had never asked the question. Ratings stay. Connected players get the push match.corrected. Running it again changes nothing. The server refuses survival matches, and matches with incomplete answers.",
		"server matches void --game demo --match m_1 --question 3 --reason 'two right answers'"},
	"tasks": {"Dead tasks wait until you requeue, edit or discard them: webhook deliveries that failed on the last try, results that the ledger refused ten times. " + callsServer,
		"server tasks list"},
	"tasks list": {"", "server tasks list --game demo --state all"},
	"tasks show": {"", "server tasks show 5YTSVMLPDQIVPJ4EMMGBQXUCBD"},
	"tasks edit": {"The payload of topic settle is the complete result of the match, as `server tasks show` prints it. Payloads of other topics have up to 64 KiB of JSON.",
		"server tasks edit 5YTSVMLPDQIVPJ4EMMGBQXUCBD fixed.json"},
	"tasks requeue": {"Requeued tasks have all their tries again. The command prints the state of each task, and exits with 1 if one is still dead or was refused.",
		"server tasks requeue --all --game demo"},
	"tasks discard": {"Discarded tasks stay in the list for 7 days, and you can requeue them. The command exits with 1 if one was refused.",
		"server tasks discard --all --topic webhook/demo/rewards"},
	"task-queues": {"A task queue has the tasks of one topic and priority. " + callsServer,
		"server task-queues list --busy"},
	"task-queues list": {"LAST is the position of the newest task, CLAIMED the last position that workers have claimed. FINISHED is the position up to which all tasks have ended or wait for a retry. WAITING is LAST minus CLAIMED, IN PROGRESS is CLAIMED minus FINISHED. BLOCKED BY is the task that an ordered queue waits for.",
		"server task-queues list --busy --kind webhook"},
	"queue": {"A behaviour queue holds the behaviours of a game until the server reports them, for at most 3 minutes. " + callsServer,
		"server queue list"},
	"queue list": {"OLDEST is the age of the oldest behaviour. NEXT BATCH is when the server sends the next batch.",
		"server queue list --game demo"},
	"queue peek": {"Prints one JSON object per line. The behaviours stay in the queue. They are personal data.",
		"server queue peek --game demo --limit 3"},
	"queue drain": {"The server sends at the configured rate. The command waits up to 20 s, and exits with 1 if behaviours are left.",
		"server queue drain --game demo"},
	"queue pause": {"The queue still accepts behaviours. It drops those that become too old.",
		"server queue pause --game demo --reason 'receiver maintenance until noon'"},
	"queue resume": {"", "server queue resume --game demo"},
	"queue set-max-len": {"The length applies immediately on all nodes, until you set another length. The queue drops the oldest behaviours above it.",
		"server queue set-max-len --game demo 50000"},
	"queue show-key": {"The receiver needs the key to verify signatures. The command reads the database, also beside a running server.",
		"server queue show-key --game demo"},
	"webhooks": {"A webhook receives events: settled matches, ended arenas, sealed days. " + callsServer,
		"server webhooks list"},
	"webhooks list": {"PENDING counts deliveries in the task states waiting, claimed and later. DEAD counts deliveries that the server no longer retries. To see both, run `server tasks list --topic webhook/GAME/NAME --state all`.",
		"server webhooks list"},
	"webhooks ping": {"The server sends the event webhook.ping immediately, also to a disabled webhook. The command exits with 1 unless the webhook accepts it.",
		"server webhooks ping --game demo rewards"},
	"webhooks enable": {"To send the deliveries that failed in the meantime, run `server tasks requeue --all --topic webhook/GAME/NAME`.",
		"server webhooks enable --game demo rewards"},
	"webhooks disable": {"The server drops new events and counts them. Waiting deliveries become dead tasks, which you can requeue.",
		"server webhooks disable --game demo --reason 'moving to a new host' rewards"},
	"webhooks show-key": {"The receiver needs the key to verify signatures. The command reads the database, also beside a running server.",
		"server webhooks show-key --game demo rewards"},
	"audit": {"The audit log has an entry of each request by which an operator changes something or reads something sensitive. " + callsServer,
		"server audit list --game demo"},
	"audit list": {"STATUS is the HTTP status of the response. \"?\" means that the request is in progress, or that its node crashed.",
		"server audit list --game demo --limit 20"},
	"token": {"The command reads the database, also beside a running server.",
		"server token --game demo --role player --sub p_42 --ttl 1h"},
	"keys": {"These commands change generated keys. To rotate configured keys, change their files; the server reads them again every 10 s. " + callsServer,
		"server keys rotate --game demo"},
	"keys list": {"", "server keys list --game demo"},
	"keys rotate": {"Earlier keys stay valid for verification until you retire them.",
		"server keys rotate --game demo"},
	"keys retire": {"The server closes connections that began with a token of the key, with 4401.",
		"server keys retire --game demo k_5YTSVMLPDQIV"},
	"tokens": {"A revocation takes effect on all nodes within seconds, also on live connections. " + callsServer,
		"server tokens revoke --game demo --subject p_42 --reason 'a lost phone'"},
	"tokens revoke": {"The server closes connections that were opened with such a token, with 4401. Players keep their seats and return with a new token. Revoking all tokens of a guest also detaches its device: see `server players reset-device`.",
		"server tokens revoke --game demo --subject p_42 --reason 'a lost phone'\nserver tokens revoke --admins --subject ops --reason 'a lost laptop'"},
	"tokens restore": {"Tokens that have not expired are valid again.",
		"server tokens restore --game demo --subject p_42"},
	"tokens list-revoked": {"Operators create the kinds token and subject. The server creates the others: erased players, and sessions that ended when an account was linked or unlinked.",
		"server tokens list-revoked --game demo --kind subject"},
	"bans": {"A ban takes effect on all nodes within seconds, also on live connections. " + callsServer,
		"server bans add --game demo --player p_42 --reason 'two accounts' --for 72h"},
	"bans add": {"The server closes the player's connection with 4410. The player forfeits the current match.",
		"server bans add --game demo --player p_42 --reason 'two accounts' --for 72h"},
	"bans remove": {"The player can connect again.", "server bans remove --game demo --player p_42"},
	"bans list":   {"", "server bans list --game demo"},
	"players":     {callsServer, "server players erase --game demo --player p_42"},
	"players erase": {"The server deletes the nickname, the device and the profile for good. Results stay under an opaque id.",
		"server players erase --game demo --player p_42\nserver players erase --game demo --nickname Ada"},
	"players reset-device": {"The command prints the new secret, which the server never shows again. The old secret no longer belongs to the player. Tokens stay valid: revoke them first with `server tokens revoke`.",
		"server players reset-device --game demo --player p_42"},
	"players unlink-account": {"The server closes connections of the account as the guest with 4401. The next token of the account creates a new player.",
		"server players unlink-account --game demo --player p_42"},
	"days": {callsServer, "server days confirm --game demo --day 2026-11-22"},
	"days confirm": {"The server does not start a new day of a game while the database clock is days ahead or differs from cluster time. Confirm the real date.",
		"server days confirm --game demo --day 2026-11-22"},
	"backup": {"The server can run. The file has all data of the database at one moment, token keys included: keep it secret. It fits both kinds of databases. Back up the configuration and its key files yourself.",
		"server backup /var/backups/laststand-2026-11-24.db"},
	"restore": {"Stop all servers first. The command refuses a damaged file and a database that is not empty. It compares all rows. Redis needs no change: the server builds its leaderboards again.",
		"server restore --database postgres://laststand@db/laststand /var/backups/laststand-2026-11-24.db"},
	"health": {"The command asks the operations listener, and exits with 1 if the server does not answer. It needs no token, so that supervisors of containers can run it.",
		"server health --ready"},
	"config":  {"", "LASTSTAND_REDIS=redis://cache:6379 server config --config laststand.yaml"},
	"version": {"", "server version"},
}

// addHelp adds the help to a command and the commands below it.
func addHelp(command *kong.Node) {
	if help, ok := helpByCommand[command.Path()]; ok {
		command.Detail = strings.TrimSpace(help.text + "\n\nExample: " + strings.ReplaceAll(help.examples, "\n", "\n         "))
	}
	for _, child := range command.Children {
		addHelp(child)
	}
}
