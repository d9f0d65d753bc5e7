package testenv

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
)

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
