-- Each statement of the queue has one index that fits, and none that seems to.

-- +goose Up

-- Tasks that have ended leave the index of states: they are most of all there
-- are.
DROP INDEX tasks_state;
CREATE INDEX tasks_state ON tasks (state, id) WHERE ended_at IS NULL;

-- By its topic alone no task is found here: whoever looks for a place in a line
-- would else read all of the topic where most topics were small at last count.
DROP INDEX tasks_key;
CREATE UNIQUE INDEX tasks_key ON tasks (game, topic, key);

-- +goose Down
DROP INDEX tasks_state;
CREATE INDEX tasks_state ON tasks (state, id);
DROP INDEX tasks_key;
CREATE UNIQUE INDEX tasks_key ON tasks (topic, game, key);
