package leaderboard

// Weights mix the parts of an entry into its value. The default is the score
// alone.
type Weights struct {
	Score    int64
	Accuracy int64
	Speed    int64
	Matches  int64
}

// MaxWeight bounds each weight, so that values stay far inside the 2^53 up to
// which a board's keys are exact.
const MaxWeight = 1_000_000

// DefaultWeights make the value the score.
var DefaultWeights = Weights{Score: 1}

// Term is one summand of a value: Value = Weight · Amount.
type Term struct {
	Name   string `json:"name"` // score, accuracy, speed, matches
	Weight int64  `json:"weight"`
	Amount int64  `json:"amount"`
	Value  int64  `json:"value"`
}

// Value is the wire contract's weighted mix, in integers:
//
//	score·w + ⌊10000·correct/asked⌋·w + ⌊10000·(1 - time_ms/limit_ms)⌋·w + matches·w
//
// each with its own weight; with nothing asked the middle two are 0.
func Value(p Parts, w Weights) int64 {
	var sum int64
	for _, t := range Explain(p, w) {
		sum += t.Value
	}
	return sum
}

// Explain lists the terms of Value, those of weight 0 too. They add up to it.
func Explain(p Parts, w Weights) []Term {
	return []Term{
		term("score", w.Score, p.Score),
		term("accuracy", w.Accuracy, tenThousandths(p.Correct, p.Asked, p.Asked)),
		term("speed", w.Speed, tenThousandths(p.LimitMS-p.TimeMS, p.LimitMS, p.Asked)),
		term("matches", w.Matches, p.Matches),
	}
}

func term(name string, weight, amount int64) Term {
	return Term{Name: name, Weight: weight, Amount: amount, Value: weight * amount}
}

// tenThousandths is ⌊10000·part/whole⌋, 0 with nothing asked or no whole.
func tenThousandths(part, whole, asked int64) int64 {
	if asked == 0 || whole <= 0 {
		return 0
	}
	return floorDiv(10000*part, whole)
}
