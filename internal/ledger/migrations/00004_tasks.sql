-- Work that waits on its own account, by topic: now the results that were refused.

-- +goose Up

-- Of a topic and game each key is there once, whatever became of it. payload
-- and errors are JSON.
CREATE TABLE tasks (
    id         TEXT   PRIMARY KEY,
    game       TEXT   NOT NULL,
    topic      TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    payload    TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    tries      BIGINT NOT NULL,
    errors     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX tasks_key ON tasks (topic, game, key);
CREATE INDEX tasks_created ON tasks (created_at, id);
CREATE INDEX tasks_state ON tasks (state, created_at, id);

-- +goose Down
DROP TABLE tasks;
