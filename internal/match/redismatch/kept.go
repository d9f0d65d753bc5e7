package redismatch

import (
	"context"
	"slices"
)

const (
	// keptTTLMS is how long a result is kept after the ledger has it. The match itself
	// stays longer, see settledTTLMS: a large result and the answers need it.
	keptTTLMS = 5 * 60 * 1000
	// maxKept limits the kept results of a partition that OfferAgain finds.
	maxKept = 2000
	// offersPerCall limits the results of one script.
	offersPerCall = 100
)

// OfferAgain makes the results wait for the ledger that it got in the last minutes, because it
// may have lost them. The ledger ignores those that it still has. OfferAgain returns how many
// results wait now. After an error the caller repeats it.
func (r *Results) OfferAgain(ctx context.Context) (offered int, err error) {
	for p := range Partitions {
		shared := partitionKeys(p)
		ids, err := r.client.LRange(ctx, shared.settled(), 0, -1).Result()
		if err != nil {
			return offered, wrap("list kept results", "", err)
		}
		for chunk := range slices.Chunk(ids, offersPerCall) {
			keyNames, args := []string{shared.result()}, make([]any, len(chunk))
			for i, id := range chunk {
				keyNames, args[i] = append(keyNames, newKeys(id).kept()), id
			}
			n, err := offerAgainScript.Run(ctx, r.client, keyNames, args...).Int()
			if err != nil {
				return offered, wrap("offer kept results again", "", err)
			}
			offered += n
		}
	}
	return offered, nil
}
