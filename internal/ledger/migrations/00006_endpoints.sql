-- State of the endpoints of webhooks, and the number of waiting deliveries.

-- +goose Up

-- The endpoints that nothing is sent to, and why.
CREATE TABLE disabled_endpoints (
    game  TEXT   NOT NULL,
    name  TEXT   NOT NULL,
    why   TEXT   NOT NULL,
    since BIGINT NOT NULL,
    PRIMARY KEY (game, name)
);

-- Tasks without a place in their line that have not ended, by topic. Written as
-- two terms, of which SQLite finds one in a query.
CREATE INDEX tasks_aside ON tasks (topic, state) WHERE state = 'later' OR state = 'dead';

-- +goose Down
DROP INDEX tasks_aside;
DROP TABLE disabled_endpoints;
