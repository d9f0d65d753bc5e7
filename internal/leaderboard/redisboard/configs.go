package redisboard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

// storedConfig is a leaderboard.Config as JSON in Redis. The time zone is stored by
// name.
type storedConfig struct {
	Game       string               `json:"game"`
	Windows    []leaderboard.Window `json:"windows"`
	Orders     []leaderboard.Order  `json:"orders"`
	Weights    leaderboard.Weights  `json:"weights"`
	MinAnswers int64                `json:"min_answers"`
	TimeZone   string               `json:"time_zone"`
}

func packConfig(cfg leaderboard.Config) (string, error) {
	packed, err := json.Marshal(storedConfig{
		Game: cfg.Game, Windows: cfg.Windows, Orders: cfg.Orders, Weights: cfg.Weights,
		MinAnswers: cfg.MinAnswers, TimeZone: cfg.Location.String(),
	})
	return string(packed), err
}

func unpackConfig(packed string) (leaderboard.Config, error) {
	var stored storedConfig
	if err := json.Unmarshal([]byte(packed), &stored); err != nil {
		return leaderboard.Config{}, err
	}
	zone, err := time.LoadLocation(stored.TimeZone)
	if err != nil {
		return leaderboard.Config{}, err
	}
	return leaderboard.Config{
		Game: stored.Game, Windows: stored.Windows, Orders: stored.Orders, Weights: stored.Weights,
		MinAnswers: stored.MinAnswers, Location: zone,
	}, nil
}

// ServedConfigs implements leaderboard.BoardSetStore.
func (s *Store) ServedConfigs(ctx context.Context, game string) ([]leaderboard.Config, error) {
	var published *redis.StringSliceCmd
	var packed *redis.MapStringStringCmd
	_, err := s.rdb.TxPipelined(ctx, func(pipe redis.Pipeliner) error {
		published = pipe.ZRevRange(ctx, publishedKey(game), 0, -1)
		packed = pipe.HGetAll(ctx, configsKey(game))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read leaderboard configurations: %w", err)
	}
	var configs []leaderboard.Config
	for _, configHash := range published.Val() {
		cfg, err := unpackConfig(packed.Val()[configHash])
		if err != nil {
			return nil, fmt.Errorf("leaderboard configuration %s: %w", configHash, err)
		}
		configs = append(configs, cfg)
	}
	return configs, nil
}
