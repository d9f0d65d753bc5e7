package swarm

import (
	"strings"

	"laststand/internal/protocol"
)

// isClearRefusal says whether a counted outcome is a refusal that asks for a later retry.
func isClearRefusal(name string) bool {
	for _, code := range []protocol.Code{protocol.CodeOverloaded, protocol.CodeRateLimited, protocol.CodeUnavailable} {
		if strings.HasSuffix(name, " "+string(code)) {
			return true
		}
	}
	return strings.HasSuffix(name, " closed 1013") || strings.HasSuffix(name, " status 503") || strings.HasSuffix(name, " status 429")
}

// isUnclearFailure reports whether a counted outcome is a fault, or gives no reason.
func isUnclearFailure(name string) bool {
	return strings.HasSuffix(name, " failed") || strings.HasSuffix(name, " timeout") ||
		strings.HasSuffix(name, " "+string(protocol.CodeInternal)) || strings.Contains(name, " status 50") && !isClearRefusal(name)
}
