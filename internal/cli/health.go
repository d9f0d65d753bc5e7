package cli

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"
)

type healthCmd struct {
	Ready bool `help:"Fail also while the server is not ready for players."`
}

func (h healthCmd) Run(ctx context.Context, flags *Flags) error {
	c, err := flags.read()
	if err != nil {
		return err
	}
	path := "/healthz"
	if h.Ready {
		path = "/readyz"
	}
	return CheckHealth(ctx, dialAddress(c.OpsListen), path)
}

// healthTimeout limits a check of CheckHealth.
const healthTimeout = 5 * time.Second

// CheckHealth returns nil if the operations listener at an address answers a health check,
// /healthz or /readyz, with 200.
func CheckHealth(ctx context.Context, address, path string) error {
	ctx, cancel := context.WithTimeout(ctx, healthTimeout)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path, nil)
	if err != nil {
		return err
	}
	request.Close = true // no connection stays open
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return fmt.Errorf("no server answers at %s; start it, or set --ops-listen to the operations address that it printed: %w", address, err)
	}
	defer response.Body.Close()
	if response.StatusCode == http.StatusOK {
		return nil
	}
	body, err := io.ReadAll(io.LimitReader(response.Body, 1024))
	if err != nil {
		return err
	}
	return fmt.Errorf("%s at %s returns %s: %s", path, address, response.Status, strings.TrimSpace(string(body)))
}
