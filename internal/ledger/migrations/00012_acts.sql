-- What operators did: requests that change something, kept for some time.

-- +goose Up

-- status and ended_at are 0 until an act has ended.
CREATE TABLE acts (
    id       TEXT    NOT NULL PRIMARY KEY,
    at       BIGINT  NOT NULL,
    who      TEXT    NOT NULL,
    what     TEXT    NOT NULL,
    game     TEXT    NOT NULL,
    target   TEXT    NOT NULL,
    status   INTEGER NOT NULL DEFAULT 0,
    ended_at BIGINT  NOT NULL DEFAULT 0
);

CREATE INDEX acts_by_time ON acts (at, id);
CREATE INDEX acts_of_game ON acts (game, at, id);

-- +goose Down
DROP TABLE acts;
