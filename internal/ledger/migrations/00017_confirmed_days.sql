-- +goose Up

-- The day up to which an operator has confirmed a jump of the database's clock,
-- one row a game.
CREATE TABLE confirmed_days (
    game TEXT   NOT NULL PRIMARY KEY,
    day  TEXT   NOT NULL, -- YYYY-MM-DD
    at   BIGINT NOT NULL  -- epoch ms
);

-- +goose Down
DROP TABLE confirmed_days;
