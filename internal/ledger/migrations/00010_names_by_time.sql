-- Nodes follow the nicknames of all games at once, some times a second, by the
-- instant of their claim: page by page, and without a look at the table.

-- +goose Up
DROP INDEX players_named;
CREATE INDEX players_named ON players (named_at, game, skeleton);

-- +goose Down
DROP INDEX players_named;
CREATE INDEX players_named ON players (game, named_at);
