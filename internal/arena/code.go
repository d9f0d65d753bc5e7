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
	// maxCodeTries is how many random codes claimCode tries. If 90 % of all
	// codes are in use, about one arena in thirty still finds none.
	maxCodeTries = 32
	// codesFullRetryMS is how long a client must wait until codes may be free
	// again.
	codesFullRetryMS = 60_000
)

// claimCode claims a random code for the match of an arena.
func (s *Service) claimCode(ctx context.Context, plan *match.Plan) (string, error) {
	for range maxCodeTries {
		code := newCode()
		free, err := s.Codes.ClaimCode(ctx, plan.Game, code, plan.ID)
		if err != nil || free {
			return code, err
		}
	}
	return "", protocol.RetryAfter(protocol.CodeOverloaded, codesFullRetryMS, "nearly all codes are in use; retry in 60 s")
}

// ReleaseCode frees the code of an arena after an hour. It is for arenas whose
// match is over or was never created. It logs errors.
func (s *Service) ReleaseCode(game, code string) {
	ctx, cancel := context.WithTimeout(context.Background(), callTimeout)
	defer cancel()
	if err := s.Codes.RetireCode(ctx, game, code); err != nil {
		s.Logger.Warn("arena code not released; it expires by itself", "game", game, "code", code, "error", err)
	}
}

// newCode returns a code of random digits.
func newCode() string {
	n, _ := rand.Int(rand.Reader, big.NewInt(1_000_000)) // crypto/rand never fails
	return fmt.Sprintf("%0*d", codeDigits, n)
}

// CodeKey returns a key that identifies a code among the codes of all games.
func CodeKey(game, code string) string { return game + "/" + code }

func isCode(s string) bool {
	return len(s) == codeDigits && strings.Trim(s, "0123456789") == ""
}
