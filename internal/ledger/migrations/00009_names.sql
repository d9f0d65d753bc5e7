-- Skeletons are computed again when their rules change.

-- +goose Up

-- One row: up to which player, by the instant of the name's claim, skeletons are
-- those of these rules. done says that all were once.
CREATE TABLE spelling (
    one      BIGINT PRIMARY KEY CHECK (one = 1),
    rules    BIGINT NOT NULL,
    done     BIGINT NOT NULL,
    named_at BIGINT NOT NULL,
    game     TEXT   NOT NULL,
    id       TEXT   NOT NULL
);

-- +goose Down
DROP TABLE spelling;
