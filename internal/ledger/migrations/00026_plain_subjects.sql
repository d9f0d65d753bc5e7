-- An older program keeps the subjects of erased players as they are. They are wiped
-- later, in steps, and found by this index, which is empty most of the time.

-- +goose Up
CREATE INDEX accounts_plain ON accounts (player, game, sub) WHERE player = '' AND substr(sub, 1, 1) <> '#';

-- +goose Down
DROP INDEX accounts_plain;
