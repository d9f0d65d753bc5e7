package redismatch

import (
	"hash/fnv"
	"strconv"

	"laststand/internal/match"
)

// Partitions is the number of hash tags over which the keys of all matches are
// spread. The partition of a match follows from its id and never changes.
const Partitions = 256

// keys names every key of one match. The keys share the hash tag of the
// partition.
type keys struct{ tag, id, prefix string }

func newKeys(id string) keys {
	hash := fnv.New32a()
	hash.Write([]byte(id))
	t := tags[hash.Sum32()%Partitions]
	return keys{tag: t, id: id, prefix: "m:" + t + ":" + id}
}

func (k keys) match() string     { return k.prefix }               // hash: the state
func (k keys) plan() string      { return k.match() + ":plan" }    // JSON
func (k keys) log() string       { return k.match() + ":log" }     // list: the numbered pushes
func (k keys) answers() string   { return k.match() + ":answers" } // hash: QUESTION|PLAYER to the record
func (k keys) totals() string    { return k.match() + ":totals" }  // hash: PLAYER to sums, left|PLAYER; |wide only sets the encoding
func (k keys) kept() string      { return k.match() + ":kept" }    // JSON: the result, for some minutes after the ledger has it
func (k keys) tombstone() string { return k.match() + ":tomb" }    // string: "over" (the match existed) or "void" (it never existed); it cannot be created

// Keys of an arena only.
func (k keys) seats() string  { return k.match() + ":seats" }  // hash: PLAYER to team, newline, seat (JSON)
func (k keys) roles() string  { return k.match() + ":roles" }  // hash: PLAYER to role, for watchers
func (k keys) banned() string { return k.match() + ":banned" } // set: players
func (k keys) teams() string  { return k.match() + ":teams" }  // hash: players|TEAM, score|TEAM
func (k keys) rank() string   { return k.match() + ":rank" }   // zset: players by rank
func (k keys) counts() string { return k.match() + ":counts" } // zset: answers to the current question by value
func (k keys) top() string    { return k.match() + ":top" }    // zset: players in the order in which a reveal lists them

// first is 1 while nobody has answered an open buzzer question right, and 0 after
// the question closed.
func (k keys) first(question int) string { return k.match() + ":first:" + strconv.Itoa(question) }

// guard is written when the place of a person ends, and when a wrong answer of a player of a
// buzzer match is accepted. A race of the player watches it, and fails then. It also has the
// reply to the end of the place.
func (k keys) guard(player string) string { return k.match() + ":guard:" + player }

// lockout exists while a wrong answer locks a team out of a question.
func (k keys) lockout(question int, team string) string {
	return k.match() + ":lockout:" + strconv.Itoa(question) + ":" + team
}

// Keys shared by all matches of a partition.
func (k keys) due() string     { return "due:" + k.tag }     // zset: matches by deadline
func (k keys) seq() string     { return "seq:" + k.tag }     // hash: ID to its last number, ID|v to its version
func (k keys) result() string  { return "result:" + k.tag }  // hash: ID to a result that waits for the ledger
func (k keys) settled() string { return "settled:" + k.tag } // list: matches with a kept result, newest first
func (k keys) unsaved() string { return "unsaved:" + k.tag } // zset: settled matches whose answers wait for the ledger, by the end of the claim

// progressFields are the fields of a match in seq.
func (k keys) progressFields() []string { return []string{k.id, k.id + "|v"} }

// anyMode stands for the mode of a match that is not known.
const anyMode match.Mode = ""

// resultKeys are the keys that the ledger needs after the end of a match: for the
// standings of a large arena, and for the answers. A duel has fewer. anyMode names all.
func (k keys) resultKeys(mode match.Mode) []string {
	names := []string{k.match(), k.plan(), k.totals(), k.answers()}
	if mode != match.Duel {
		names = append(names, k.seats(), k.rank())
	}
	return names
}

// playKeys are the other keys of a match. They are needed only while it is
// played.
func (k keys) playKeys(mode match.Mode) []string {
	names := []string{k.log()}
	if mode != match.Duel {
		names = append(names, k.roles(), k.banned(), k.teams(), k.top(), k.counts())
	}
	return names
}

// partitionKeys names the keys that the matches of a partition share.
func partitionKeys(p int) keys { return keys{tag: tags[p]} }

// tags are the hash tags of all partitions.
var tags = func() (tags [Partitions]string) {
	for p := range tags {
		tags[p] = "{" + strconv.Itoa(p) + "}"
	}
	return tags
}()

// seenKey names the text of questions that a player saw recently.
func seenKey(game, player string) string { return "seen_ids:{" + game + "/" + player + "}" }

// codeKey names the key that holds the match of a code.
func codeKey(game, code string) string { return "code:" + game + ":" + code }
