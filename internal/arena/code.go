package arena

import (
	"context"
	"crypto/rand"
	"fmt"
	"math/big"
	"strings"

	"laststand/internal/match"
	"laststand/internal/protocol"
)

const (
	codeDigits = 6
	// claims is how many codes are tried: with nine of ten taken one in thirty
	// arenas would still find none.
	maxCodeTries = 32
	// fullMS is after what time codes may have come free.
	noCodeRetryMS = 60_000
)

// claimCode takes a random code for the match of an arena.
func (s *Service) claimCode(ctx context.Context, p *match.Plan) (string, error) {
	for range maxCodeTries {
		code, err := newCode()
		if err != nil {
			return "", err
		}
		free, err := s.Codes.ClaimCode(ctx, p.Game, code, p.ID)
		if err != nil || free {
			return code, err
		}
	}
	return "", protocol.RetryAfter(protocol.CodeOverloaded, noCodeRetryMS, "nearly all codes are taken; try again in a minute")
}

// ReleaseCode frees the code of an arena whose match is over, or never came to be, in
// an hour.
func (s *Service) ReleaseCode(game, code string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.Codes.RetireCode(ctx, game, code); err != nil {
		s.Logger.Warn("arena code not released; it expires by itself", "game", game, "code", code, "error", err)
	}
}

// newCode is a code of random digits.
func newCode() (string, error) {
	n, err := rand.Int(rand.Reader, big.NewInt(1_000_000))
	if err != nil {
		return "", fmt.Errorf("arena: code: %w", err)
	}
	return fmt.Sprintf("%0*d", codeDigits, n), nil
}

// CodeKey is what a code opens, of its own among those of all games.
func CodeKey(game, code string) string { return game + "/" + code }

func isCode(s string) bool {
	return len(s) == codeDigits && strings.Trim(s, "0123456789") == ""
}
