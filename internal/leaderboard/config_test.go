package leaderboard

import (
	"slices"
	"strings"
	"testing"
	"time"
)

func validConfig() Config {
	return Config{
		Game: "demo", Windows: []Window{All, Day, "7d", "30d"}, Orders: Orders(),
		Weights: DefaultWeights, MinAnswers: 20, Location: time.UTC,
	}
}

func TestValidateReturnsEveryError(t *testing.T) {
	t.Parallel()
	if err := validConfig().Validate(); err != nil {
		t.Fatalf("the default configuration: %v", err)
	}
	invalid := Config{
		Game: "a}b", Windows: []Window{Day, "1d", "401d", "07d", Day}, Orders: []Order{ByTime, "luck", ByTime},
		Weights: Weights{Score: -1, Matches: MaxWeight + 1}, MinAnswers: -1,
	}
	err := invalid.Validate()
	if err == nil {
		t.Fatal("Validate returned nil for an invalid configuration")
	}
	for _, want := range []string{
		"name of a game", "time zone", "min_answers -1", `unknown window "1d"`, `"401d"`, `"07d"`, `window "day" is listed twice`,
		`contain "value"`, `"luck"`, `order "time" is listed twice`, "weight score -1", "weight matches 1000001",
	} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("the error lacks %q:\n%v", want, err)
		}
	}
	empty := validConfig()
	empty.Windows, empty.Weights = nil, Weights{}
	if err := empty.Validate(); err == nil || !strings.Contains(err.Error(), "no windows") || !strings.Contains(err.Error(), "all weights are 0") {
		t.Errorf("without windows and weights: %v", err)
	}
}

func TestByValueUsesTheScoreRankingUnderDefaultWeights(t *testing.T) {
	t.Parallel()
	cfg := validConfig()
	if got := cfg.RankingOrders(); !slices.Equal(got, []Order{ByAccuracy, ByMatches, ByScore, ByTime}) {
		t.Errorf("rankings are %v", got)
	}
	cfg.Weights.Matches = 1
	if got := cfg.RankingOrders(); len(got) != 5 || cfg.RankingOrder(ByValue) != ByValue {
		t.Errorf("rankings are %v under other weights", got)
	}
}

func TestTheHashChangesWithTheConfig(t *testing.T) {
	t.Parallel()
	configs := map[string]string{}
	for name, change := range map[string]func(*Config){
		"nothing":     func(*Config) {},
		"weights":     func(changed *Config) { changed.Weights.Speed = 1 },
		"min_answers": func(changed *Config) { changed.MinAnswers++ },
		"windows":     func(changed *Config) { changed.Windows = []Window{All} },
		"orders":      func(changed *Config) { changed.Orders = []Order{ByValue} },
	} {
		cfg := validConfig()
		change(&cfg)
		if other, taken := configs[cfg.Hash()]; taken {
			t.Errorf("changing %s gives the same hash as changing %s", name, other)
		}
		configs[cfg.Hash()] = name
	}
	same := validConfig()
	slices.Reverse(same.Windows)
	slices.Reverse(same.Orders)
	if configs[same.Hash()] != "nothing" {
		t.Error("the hash depends on the sequence of windows or orders")
	}
}
