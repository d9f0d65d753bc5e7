package redisx

import "context"

// LookForReplicas looks now.
func (c *Conn) LookForReplicas(ctx context.Context) { c.lookForReplicas(ctx) }
