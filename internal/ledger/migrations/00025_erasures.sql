-- Erasures, in steps.

-- +goose Up

-- The key of the hashes by which the subjects of erased players are remembered.
ALTER TABLE about ADD COLUMN erasure_key TEXT NOT NULL DEFAULT '';

-- The id that an erased player's results have, beside the hash of the subject; ''
-- where they keep theirs.
ALTER TABLE accounts ADD COLUMN opaque TEXT NOT NULL DEFAULT '';

-- Erasures under way: subject is wiped from all else first, and then with its row.
-- first_pos and last_pos are those of the moves on the boards, 0 before. ended_at is
-- when only the wait for lagging nodes was left.
CREATE TABLE erasures (
    game      TEXT   NOT NULL,
    subject   TEXT   NOT NULL,
    opaque    TEXT   NOT NULL,
    at        BIGINT NOT NULL,
    first_pos BIGINT NOT NULL DEFAULT 0,
    last_pos  BIGINT NOT NULL DEFAULT 0,
    ended_at  BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, subject)
);
CREATE INDEX erasures_at ON erasures (ended_at, at);

-- +goose Down
-- Hashes stay where subjects were: an older program then lets an erased subject
-- begin anew. A move on the boards turns to the day that it is.
UPDATE entries SET kind = 'day.turn', whose = '', holder = '', of_day = '' WHERE kind = 'move';
DROP TABLE erasures;
ALTER TABLE accounts DROP COLUMN opaque;
ALTER TABLE about DROP COLUMN erasure_key;
