package httpapi

import (
	"fmt"
	"slices"
	"testing"

	"laststand/internal/nickname"
	"laststand/internal/protocol"
)

// A problem says why a nickname is refused, in a word that is in the contract, and so does a refusal
// of the game.
func TestProblemsHaveTheReasonsOfTheContract(t *testing.T) {
	t.Parallel()
	listed, _ := openAPI().find("components", "schemas", "RefusalReason", "enum")
	var inCode []any
	_, tooShort := nickname.Parse("x")
	for _, reason := range []string{nickname.TooShort, nickname.TooLong, nickname.Characters, nickname.ReservedWord, nickname.BlockedWord, protocol.ReasonTooFewQuestions, protocol.ReasonHostsOnly} {
		inCode = append(inCode, reason)
	}
	if !slices.Equal(listed.([]any), inCode) {
		t.Errorf("openapi.yaml has %q, the code has %q", listed, inCode)
	}
	for want, err := range map[string]error{
		nickname.TooShort: tooShort, protocol.ReasonHostsOnly: protocol.Errorf(protocol.CodeForbidden, "not here").Because(protocol.ReasonHostsOnly), "": protocol.Errorf(protocol.CodeForbidden, "not here"),
	} {
		h := New(newTestConfig(&fakeBackend{fail: fmt.Errorf("%w", err)}))
		if p := decodeProblem(t, serve(t, h, getCall(demoPath+"/leaderboards/all")).Body.Bytes()); p.Reason != want {
			t.Errorf("%v has the reason %q, want %q", err, p.Reason, want)
		}
	}
}
