package redisboard

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"laststand/internal/leaderboard"
)

// form is a leaderboard.Config as Redis holds it: the time zone by its name.
type form struct {
	Game       string               `json:"game"`
	Windows    []leaderboard.Window `json:"windows"`
	Orders     []leaderboard.Order  `json:"orders"`
	Weights    leaderboard.Weights  `json:"weights"`
	MinAnswers int64                `json:"min_answers"`
	TimeZone   string               `json:"time_zone"`
}

func packForm(c leaderboard.Config) (string, error) {
	packed, err := json.Marshal(form{
		Game: c.Game, Windows: c.Windows, Orders: c.Orders, Weights: c.Weights,
		MinAnswers: c.MinAnswers, TimeZone: c.Location.String(),
	})
	return string(packed), err
}

func unpackForm(packed string) (leaderboard.Config, error) {
	var f form
	if err := json.Unmarshal([]byte(packed), &f); err != nil {
		return leaderboard.Config{}, err
	}
	zone, err := time.LoadLocation(f.TimeZone)
	if err != nil {
		return leaderboard.Config{}, err
	}
	return leaderboard.Config{
		Game: f.Game, Windows: f.Windows, Orders: f.Orders, Weights: f.Weights,
		MinAnswers: f.MinAnswers, Location: zone,
	}, nil
}

// Forms implements leaderboard.Generations.
func (s *Store) Forms(ctx context.Context, game string) ([]leaderboard.Config, error) {
	var published *redis.StringSliceCmd
	var packed *redis.MapStringStringCmd
	_, err := s.rdb.TxPipelined(ctx, func(p redis.Pipeliner) error {
		published = p.ZRevRange(ctx, publishedKey(game), 0, -1)
		packed = p.HGetAll(ctx, formsKey(game))
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the forms of leaderboards: %w", err)
	}
	var forms []leaderboard.Config
	for _, name := range published.Val() {
		c, err := unpackForm(packed.Val()[name])
		if err != nil {
			return nil, fmt.Errorf("form %s of leaderboards: %w", name, err)
		}
		forms = append(forms, c)
	}
	return forms, nil
}
