package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
)

// Profile profiles the node for the given number of seconds, and then returns. It writes
// FILE.profile (processor time) and FILE.allocs (allocations) for go tool pprof.
func (n *Node) Profile(ctx context.Context, file string, seconds int) error {
	kinds := []string{"profile", "allocs"}
	done := make(chan error, len(kinds))
	for _, kind := range kinds {
		go func() { done <- n.writeProfile(ctx, fmt.Sprintf("%s?seconds=%d", kind, seconds), file+"."+kind) }()
	}
	return errors.Join(<-done, <-done)
}

func (n *Node) writeProfile(ctx context.Context, kind, file string) error {
	profile, err := n.pprof(ctx, kind)
	if err != nil {
		return err
	}
	return os.WriteFile(file, profile, 0o600)
}

// CollectGarbage runs the garbage collector of the node.
func (n *Node) CollectGarbage(ctx context.Context) error {
	_, err := n.pprof(ctx, "heap?gc=1&debug=1")
	return err
}

// pprof requests a profile by its name and parameters.
func (n *Node) pprof(ctx context.Context, kind string) ([]byte, error) {
	token, err := n.AdminToken(ctx)
	if err != nil {
		return nil, err
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, n.OpsURL+"/debug/pprof/"+kind, nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Authorization", "Bearer "+token)
	answer, err := http.DefaultClient.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		err = fmt.Errorf("a profile was answered with %s", answer.Status)
	}
	profile, cut := io.ReadAll(answer.Body)
	return profile, errors.Join(err, cut, answer.Body.Close())
}
