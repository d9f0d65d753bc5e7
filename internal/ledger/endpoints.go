package ledger

import (
	"context"

	"laststand/internal/webhook"
)

var (
	_ webhook.EndpointStates = (*Endpoints)(nil)
	_ webhook.TaskCounter    = (*TaskStore)(nil)
)

const (
	selectDisabled = `SELECT game, name, reason, since FROM disabled_endpoints ORDER BY game, name`
	insertDisabled = `INSERT INTO disabled_endpoints (game, name, reason, since) VALUES ($1, $2, $3, {now}) ON CONFLICT DO NOTHING`
	deleteDisabled = `DELETE FROM disabled_endpoints WHERE game = $1 AND name = $2`

	selectCounts = `
SELECT (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.pos IS NOT NULL LIMIT $2) AS h)
    + (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.state = 'later' LIMIT $2) AS h),
    (SELECT COUNT(*) FROM (SELECT 1 AS one FROM tasks WHERE tasks.topic = $1 AND tasks.state = 'dead' LIMIT $2) AS h)`
)

// EndpointStates returns the disabled webhook endpoints, ordered by game and name.
func (e *Endpoints) EndpointStates(ctx context.Context) (_ []webhook.State, err error) {
	defer describe(&err, "endpoints")
	states, err := collect(func(s *webhook.State) []any { return []any{&s.Game, &s.Name, &s.Disabled, &s.Since} })(e.query(ctx, selectDisabled))
	return states, err
}

// DisableEndpoint disables an endpoint. If it is disabled already, the first reason
// stays.
func (e *Endpoints) DisableEndpoint(ctx context.Context, game, name, reason string) (err error) {
	defer describe(&err, "disable endpoint %s of %s", name, game)
	_, err = e.exec(ctx, insertDisabled, game, name, reason)
	return err
}

// EnableEndpoint enables an endpoint. It does nothing if the endpoint is not disabled.
func (e *Endpoints) EnableEndpoint(ctx context.Context, game, name string) (err error) {
	defer describe(&err, "enable endpoint %s of %s", name, game)
	_, err = e.exec(ctx, deleteDisabled, game, name)
	return err
}

// CountTasks implements webhook.TaskCounter.
func (s *TaskStore) CountTasks(ctx context.Context, topic string, maxCount int) (waiting, dead int64, err error) {
	defer describe(&err, "count tasks of %s", topic)
	err = s.queryRow(ctx, selectCounts, topic, maxCount).Scan(&waiting, &dead)
	return min(waiting, int64(maxCount)), dead, err
}
