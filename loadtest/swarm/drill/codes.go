package drill

import (
	"strings"

	"laststand/internal/protocol"
)

// telling says whether what was counted is a refusal that says what is to be done:
// come back later.
func telling(what string) bool {
	for _, code := range []protocol.Code{protocol.CodeOverloaded, protocol.CodeRateLimited, protocol.CodeUnavailable} {
		if strings.HasSuffix(what, " "+string(code)) {
			return true
		}
	}
	return strings.HasSuffix(what, " closed 1013") || strings.HasSuffix(what, " status 503") || strings.HasSuffix(what, " status 429")
}

// shameful says whether it is one that says nothing, or a fault.
func shameful(what string) bool {
	return strings.HasSuffix(what, " failed") || strings.HasSuffix(what, " timeout") ||
		strings.HasSuffix(what, " "+string(protocol.CodeInternal)) || strings.Contains(what, " status 50") && !telling(what)
}
