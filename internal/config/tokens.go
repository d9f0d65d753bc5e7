package config

import (
	"fmt"
	"regexp"
	"time"
)

// TokenRules configures what a game requires of its tokens, besides a valid signature.
type TokenRules struct {
	// Audience that the claim aud of every token must contain. Empty: tokens need no aud; an aud must contain the name of the game or laststand.
	TokenAudience string `yaml:"token_audience,omitempty" allowed:"1 to 255 ASCII characters without spaces"`
	// Maximum lifetime of a token, from iat to exp. Higher: a stolen token works longer. Lower: players log in more often. Empty: no limit.
	MaxTokenTTL string `yaml:"max_token_ttl,omitempty" allowed:"1m to 87600h"`
}

// validAudience matches the allowed values of token_audience: names and URLs.
var validAudience = regexp.MustCompile(`^[!-~]{1,255}$`)

// The range of max_token_ttl.
const (
	minTokenTTL = time.Minute
	maxTokenTTL = 10 * 365 * 24 * time.Hour
)

// validate adds an error for each rule that is invalid. prefix is the path of the game, with a
// dot at its end.
func (r TokenRules) validate(prefix string, errs *validationErrors) {
	if r.TokenAudience != "" && !validAudience.MatchString(r.TokenAudience) {
		errs.addf("%stoken_audience: %q is not 1 to 255 ASCII characters without spaces", prefix, r.TokenAudience)
	}
	_, err := r.maxTTL()
	errs.add(prefix+"max_token_ttl", err)
}

// maxTTL returns the maximum lifetime of a token. 0 means no limit.
func (r TokenRules) maxTTL() (time.Duration, error) {
	if r.MaxTokenTTL == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(r.MaxTokenTTL)
	if err != nil || d < minTokenTTL || d > maxTokenTTL {
		return 0, fmt.Errorf("%q is not a duration between %v and %v, such as 720h", r.MaxTokenTTL, minTokenTTL, maxTokenTTL)
	}
	return d, nil
}
