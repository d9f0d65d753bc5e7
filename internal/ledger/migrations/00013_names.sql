-- A claim of a name holds only where its spelling is not older than this row
-- says, so there has to be one.

-- +goose Up
INSERT INTO spelling (one, rules, done, named_at, game, id) VALUES (1, 0, 0, 0, '', '') ON CONFLICT (one) DO NOTHING;

-- +goose Down
DELETE FROM spelling WHERE rules = 0;
