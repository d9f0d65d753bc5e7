package nickname

import (
	"math/rand/v2"
	"strings"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// randomChars are the characters of random texts. No two of them look alike in any common
// typeface. There are no vowels, and no digits that look like vowels, so random texts spell
// no word.
const randomChars = "bdghjmnpqtwxz679"

const (
	nameSeparator   = "-"
	generatedLength = 4 // characters of the random text in a generated name
)

// Generate returns a friendly name for a guest without a name: an adjective, an animal and
// a random text. There are over 100 million such names. The words are Chinese if lang
// begins with "zh", else English. The name is valid but may be taken. rng must not be used
// concurrently.
func Generate(lang string, rng *rand.Rand) Name {
	words := wordListFor(lang)
	adjective := words.adjectives[rng.IntN(len(words.adjectives))]
	animal := words.animals[rng.IntN(len(words.animals))]
	return mustParse(adjective + animal + nameSeparator + randomString(rng, generatedLength))
}

func wordListFor(lang string) wordList {
	if strings.HasPrefix(strings.ToLower(lang), "zh") {
		return chinese
	}
	return english
}

type wordList struct{ adjectives, animals []string }

// English words have at most 5 and 6 letters, so that the whole name fits.
var english = wordList{
	adjectives: strings.Fields(`
		Able Agile Alert Bold Brave Brisk Calm Clear Cosy Deft Eager Early Fair Fast Fine Fresh
		Funny Glad Grand Happy Jolly Keen Kind Light Loyal Lucky Merry Mild Neat Nifty Noble
		Polar Proud Quick Quiet Rapid Ready Royal Sharp Shiny Smart Snowy Solid Spry Sunny Sweet Swift
		Tidy Vivid Warm Wise Witty Young Zesty`),
	animals: strings.Fields(`
		Badger Beaver Bison Camel Condor Cougar Crane Dingo Eagle Egret Falcon Ferret Finch Gecko
		Gibbon Heron Hare Ibex Ibis Iguana Jackal Jaguar Koala Lemur Llama Lynx Magpie Marmot Marten
		Moose Newt Ocelot Oriole Osprey Otter Panda Parrot Pigeon Plover Puffin Quail Rabbit Raven Robin
		Salmon Seal Stork Swan Tapir Tiger Toucan Turtle Walrus Wombat Yak Zebra`),
}

var chinese = wordList{
	adjectives: strings.Fields(`
		勇敢 机灵 快乐 温柔 聪明 安静 活泼 友善 坚定 沉着 轻快 幸运 诚实 热情 可爱 敏捷
		从容 自在 好奇 明亮 谦逊 爽朗 勤快 悠闲 细心 果断 淡定 开朗 稳健 灵巧 乐观 踏实
		机智 大方 风趣 专注 耐心 自信 优雅 神气`),
	animals: strings.Fields(`
		水獭 熊猫 狐狸 海豚 猎豹 白鹤 山雀 松鼠 骆驼 斑马 老虎 企鹅 海豹 鲸鱼 兔子 羚羊
		刺猬 大象 考拉 雪豹 燕子 孔雀 海龟 小鹿 天鹅 仓鼠 蜻蜓 金鱼 麋鹿 蜂鸟 河狸 浣熊
		猫头鹰 啄木鸟 长颈鹿 金丝猴 梅花鹿 小熊猫 白海豚 北极狐`),
}

func randomString(rng *rand.Rand, length int) string {
	text := make([]byte, length)
	for i := range text {
		text[i] = randomChars[rng.IntN(len(randomChars))]
	}
	return string(text)
}

// mustParse returns the Name of a text that this package has made up. It panics if the text
// is not a valid name.
func mustParse(text string) Name {
	name, err := Parse(text)
	if err != nil {
		panic("nickname: made up an invalid name: " + err.Error())
	}
	return name
}

const (
	suffixLength     = 3 // length of the random text after a name
	standaloneLength = 6 // length of a random text without a name
)

// Suggest returns a name that is similar to the requested one: as much of it as fits, and a
// short random text. The returned name is valid, even if the requested name is not, but may
// be taken. If it is taken, call Suggest again. rng must not be used concurrently.
func Suggest(requested Name, rng *rand.Rand) Name {
	if name, ok := surround("", requested, nameSeparator+randomString(rng, suffixLength)); ok {
		return name
	}
	return mustParse(randomString(rng, standaloneLength))
}

// SuggestWithWords returns a name that is similar to the requested one. It adds a word of the
// player's language: an adjective before as much of the name as fits, or an animal after
// it. The returned name is valid but may be taken. If no word fits, it returns a generated
// name.
func SuggestWithWords(requested Name, lang string, rng *rand.Rand) Name {
	words := wordListFor(lang)
	prefix, suffix := words.adjectives[rng.IntN(len(words.adjectives))], ""
	if rng.IntN(2) == 0 {
		prefix, suffix = "", words.animals[rng.IntN(len(words.animals))]
	}
	if name, ok := surround(prefix, requested, suffix); ok {
		return name
	}
	return Generate(lang, rng)
}

// surround returns as much of the requested name as fits between a prefix and a suffix. The
// profile may need a character that was cut off. So a shorter part can be valid where a longer
// one is not.
func surround(prefix string, requested Name, suffix string) (name Name, ok bool) {
	for length := MaxLength - utf8.RuneCountInString(prefix+suffix); length > 0; length-- {
		if name, err := Parse(prefix + truncate(requested.Display, length) + suffix); err == nil {
			return name, true
		}
	}
	return Name{}, false
}

// truncate returns at most the first length graphemes of a text, without spaces at the end.
// The result leaves enough bytes for a suffix.
func truncate(text string, length int) string {
	end, state := 0, -1
	for rest := text; length > 0 && rest != ""; length-- {
		var cluster string
		cluster, rest, _, state = uniseg.FirstGraphemeClusterInString(rest, state)
		if end+len(cluster) > MaxBytes-len(nameSeparator)-suffixLength {
			break
		}
		end += len(cluster)
	}
	return strings.TrimRight(text[:end], " ")
}
