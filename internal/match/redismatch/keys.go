package redismatch

import (
	"hash/fnv"
	"strconv"
)

// Partitions is how many hash tags the keys of all matches spread over. A
// match's partition follows from its id and never changes.
const Partitions = 256

// keys names every key of one match; they share the partition's hash tag.
type keys struct{ tag, id, prefix string }

func newKeys(match string) keys {
	h := fnv.New32a()
	h.Write([]byte(match))
	t := tag(int(h.Sum32() % Partitions))
	return keys{tag: t, id: match, prefix: "m:" + t + ":" + match}
}

func (k keys) match() string   { return k.prefix }               // hash: the state
func (k keys) plan() string    { return k.match() + ":plan" }    // JSON
func (k keys) log() string     { return k.match() + ":log" }     // list: the numbered pushes
func (k keys) answers() string { return k.match() + ":answers" } // hash: QUESTION|PLAYER to the record
func (k keys) totals() string  { return k.match() + ":totals" }  // hash: PLAYER to sums, left|PLAYER, |wide
func (k keys) nodes() string   { return k.match() + ":nodes" }   // set: those that hold sessions
func (k keys) tomb() string    { return k.match() + ":tomb" }    // why it can never be created

// Those of an arena.
func (k keys) seats() string  { return k.match() + ":seats" }  // hash: player to team, line end, seat
func (k keys) roles() string  { return k.match() + ":roles" }  // hash: player to role, of watchers
func (k keys) banned() string { return k.match() + ":banned" } // set: players
func (k keys) teams() string  { return k.match() + ":teams" }  // hash: players|TEAM, score|TEAM
func (k keys) rank() string   { return k.match() + ":rank" }   // zset: players by rank
func (k keys) top() string    { return k.match() + ":top" }    // zset: players by what a reveal shows of them

func (k keys) lock(question int, player string) string {
	return k.match() + ":lock:" + strconv.Itoa(question) + ":" + player
}

// first is 1 while nobody has taken a buzzer question, and 0 from then on.
func (k keys) first(question int) string { return k.match() + ":first:" + strconv.Itoa(question) }

// exit is touched when a player leaves a buzzer match: races watch it.
func (k keys) exit(player string) string { return k.match() + ":exit:" + player }

// lockout is there while a wrong answer shuts a team out of a question.
func (k keys) lockout(question int, team string) string {
	return k.match() + ":lockout:" + strconv.Itoa(question) + ":" + team
}

// Those that all matches of a partition have in common.
func (k keys) due() string    { return "due:" + k.tag }    // zset: matches by deadline
func (k keys) seq() string    { return "seq:" + k.tag }    // hash: ID to its last number, ID|v to its version
func (k keys) result() string { return "result:" + k.tag } // hash: ID to a result that waits for the ledger

// progressFields are a match's fields in seq.
func (k keys) progressFields() []string { return []string{k.id, k.id + "|v"} }

// rankingKeys are the keys that the players of an arena are paged from, and read.
func (k keys) rankingKeys() []string {
	return []string{k.match(), k.plan(), k.totals(), k.nodes(), k.seats(), k.rank()}
}

// playKeys are all other keys of a match that live as long as it is played.
func (k keys) playKeys() []string {
	return []string{k.log(), k.answers(), k.roles(), k.banned(), k.teams(), k.top()}
}

// partition names the keys that a partition's matches have in common.
func partition(p int) keys { return keys{tag: tag(p)} }

func tag(p int) string { return "{" + strconv.Itoa(p) + "}" }

// seenKey is the list of the questions that a player saw lately.
func seenKey(game, player string) string { return "seen:{" + game + "/" + player + "}" }

// codeKey holds the match that a code leads to.
func codeKey(game, code string) string { return "code:" + game + ":" + code }
