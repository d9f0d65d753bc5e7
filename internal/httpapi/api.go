package httpapi

import (
	"net/http"
)

// api is the pipeline of a request: see serve.go.
type api struct {
	*gate
	games   map[string]bool
	metrics *metrics
}

// New returns the handler of the public listener. It is safe for concurrent use
// and starts no goroutine. A request may take requestTimeout, including its body;
// extraTimeByPath lists the paths that may take more. Websocket and Page have no
// such limit.
func New(config Config) http.Handler {
	if config.IsDraining == nil {
		config.IsDraining = func() bool { return false }
	}
	if config.IsStoreDown == nil {
		config.IsStoreDown = func(error) bool { return false }
	}
	if config.ClientAddress == nil {
		config.ClientAddress = peerAddress
	}
	if config.LoadShedder == nil {
		config.LoadShedder = noLoadShedding{}
	}
	if config.IsOriginAllowed == nil {
		config.IsOriginAllowed = func(*http.Request) bool { return false }
	}
	if config.IsTLS == nil {
		config.IsTLS = func(r *http.Request) bool { return r.TLS != nil }
	}
	a := &api{gate: &gate{config}, games: map[string]bool{}, metrics: newMetrics(config.Registry)}
	for _, game := range config.Games {
		a.games[game] = true
	}
	return a.newMux()
}
