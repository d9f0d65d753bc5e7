package redisx

import "context"

// CheckReplicas checks now.
func (c *Conn) CheckReplicas(ctx context.Context) { c.checkReplicas(ctx) }
