package redismatch

import (
	"hash/fnv"
	"strconv"
)

// Partitions is how many hash tags the keys of all matches spread over. A
// match's partition follows from its id and never changes.
const Partitions = 256

// keys names every key of one match; they share the partition's hash tag.
type keys struct{ tag, id string }

func keysOf(match string) keys {
	h := fnv.New32a()
	h.Write([]byte(match))
	return keys{tag: tag(int(h.Sum32() % Partitions)), id: match}
}

func (k keys) match() string   { return "m:" + k.tag + ":" + k.id }
func (k keys) log() string     { return k.match() + ":log" }
func (k keys) answers() string { return k.match() + ":answers" }
func (k keys) totals() string  { return k.match() + ":totals" }
func (k keys) due() string     { return "due:" + k.tag }
func (k keys) seq() string     { return "seq:" + k.tag }
func (k keys) result() string  { return "result:" + k.tag }

func (k keys) lock(question int, player string) string {
	return k.match() + ":lock:" + strconv.Itoa(question) + ":" + player
}

// partition names the keys that a partition's matches have in common.
func partition(p int) keys { return keys{tag: tag(p)} }

func tag(p int) string { return "{" + strconv.Itoa(p) + "}" }

// seenKey is the list of the questions that a player saw lately.
func seenKey(game, player string) string { return "seen:{" + game + "/" + player + "}" }
