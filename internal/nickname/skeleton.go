package nickname

import (
	"golang.org/x/text/cases"
	"golang.org/x/text/secure/precis"
	"golang.org/x/text/unicode/norm"
)

// RulesVersion moves with every change of what skeletonOf gives: what was kept
// of other rules (skeletons in a ledger, snapshots of filters) is then reckoned
// anew.
const RulesVersion = 1

// skeletonOf is the key under which names count as one: the profile's key for
// comparison (NFKC in lower case, RFC 8266), case-folded in full, since lower
// case alone tells ß from ss and ς from σ.
func skeletonOf(display string) (string, error) {
	key, err := precis.Nickname.CompareKey(display)
	if err != nil {
		return "", invalid("it cannot be compared with other names")
	}
	return norm.NFKC.String(cases.Fold().String(key)), nil
}
