-- The durable queue: tasks in lines, one for each topic and priority.

-- +goose Up

-- pos is the last assigned position, in commit order. Tasks up to scan have been
-- delivered, and tasks up to done have ended or left. head is the task that an ordered
-- queue waits for, '' for none. again is 1 if the head must be delivered again. kind is
-- the topic up to its first '/'. The ready queue of a kind with the smallest vtime is
-- next.
CREATE TABLE lines (
    topic    TEXT   NOT NULL,
    priority BIGINT NOT NULL,
    kind     TEXT   NOT NULL,
    ordering TEXT   NOT NULL,
    pos      BIGINT NOT NULL,
    scan     BIGINT NOT NULL,
    done     BIGINT NOT NULL,
    head     TEXT   NOT NULL,
    again    BIGINT NOT NULL,
    vtime    BIGINT NOT NULL,
    ready    BIGINT NOT NULL GENERATED ALWAYS AS (CASE WHEN again = 1 OR head = '' AND scan < pos THEN 1 ELSE 0 END) STORED,
    PRIMARY KEY (topic, priority)
);
CREATE INDEX lines_ready ON lines (kind, ready, vtime);
CREATE INDEX lines_behind ON lines (topic, priority) WHERE done < scan;

ALTER TABLE tasks RENAME TO letters;
DROP INDEX tasks_key;
DROP INDEX tasks_created;
DROP INDEX tasks_state;

-- Of a topic and game each key is there once, until it is forgotten. pos is set
-- while the task has a place in its line; due_at while the queue does something
-- of itself: a lease that ends, a wait that is over; ended_at once it is done or
-- discarded. payload and errors are JSON.
CREATE TABLE tasks (
    id         TEXT   PRIMARY KEY,
    game       TEXT   NOT NULL,
    topic      TEXT   NOT NULL,
    key        TEXT   NOT NULL,
    priority   BIGINT NOT NULL,
    ordering   TEXT   NOT NULL,
    payload    TEXT   NOT NULL,
    state      TEXT   NOT NULL,
    pos        BIGINT,
    fence      BIGINT NOT NULL,
    due_at     BIGINT,
    tries      BIGINT NOT NULL,
    max_tries  BIGINT NOT NULL,
    errors     TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    changed_at BIGINT NOT NULL,
    ended_at   BIGINT
);
INSERT INTO tasks (id, game, topic, key, priority, ordering, payload, state, fence, tries, max_tries, errors, created_at, changed_at, ended_at)
SELECT id, game, topic, key, 0, '', payload, state, 0, tries, 0, errors, created_at, changed_at,
    CASE WHEN state = 'dead' THEN NULL ELSE changed_at END
FROM letters;
DROP TABLE letters;

CREATE UNIQUE INDEX tasks_key ON tasks (topic, game, key);
CREATE UNIQUE INDEX tasks_place ON tasks (topic, priority, pos) WHERE pos IS NOT NULL;
CREATE INDEX tasks_state ON tasks (state, id);
CREATE INDEX tasks_due ON tasks (due_at) WHERE due_at IS NOT NULL;
CREATE INDEX tasks_ended ON tasks (ended_at) WHERE ended_at IS NOT NULL;

-- +goose Down

-- What waits has no place in the former table: finish it first.
DROP TABLE lines;
ALTER TABLE tasks RENAME TO queued;
DROP INDEX tasks_key;
DROP INDEX tasks_place;
DROP INDEX tasks_state;
DROP INDEX tasks_due;
DROP INDEX tasks_ended;
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
INSERT INTO tasks SELECT id, game, topic, key, payload, state, tries, errors, created_at, changed_at
FROM queued WHERE state IN ('dead', 'done', 'discarded');
DROP TABLE queued;
CREATE UNIQUE INDEX tasks_key ON tasks (topic, game, key);
CREATE INDEX tasks_created ON tasks (created_at, id);
CREATE INDEX tasks_state ON tasks (state, created_at, id);
