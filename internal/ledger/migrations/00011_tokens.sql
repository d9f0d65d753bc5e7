-- Whose accounts players are, who is barred, and the changes of both.

-- +goose Up

-- Whom a subject of tokens speaks for: itself, for a player of an operator's login
-- service; a guest, whose account it is; '' for one who has been erased. A guest
-- without an account has no row. Rows stay for good: an id does not come back.
CREATE TABLE accounts (
    game   TEXT   NOT NULL,
    sub    TEXT   NOT NULL,
    player TEXT   NOT NULL,
    at     BIGINT NOT NULL,
    PRIMARY KEY (game, sub)
);
CREATE UNIQUE INDEX accounts_player ON accounts (game, player) WHERE player <> '';
INSERT INTO accounts (game, sub, player, at) SELECT game, id, id, joined_at FROM players WHERE device_hash IS NULL;

-- The last change of bars or keys. Who writes either holds the lock on this row.
CREATE TABLE barring (
    one BIGINT PRIMARY KEY CHECK (one = 1),
    seq BIGINT NOT NULL
);
INSERT INTO barring (one, seq) VALUES (1, 0);

-- seq is that of the bar's last change. ends_at is 0 for a bar without an end;
-- one that has ended is forgotten some time later.
CREATE TABLE bars (
    game          TEXT   NOT NULL,
    kind          TEXT   NOT NULL,
    id            TEXT   NOT NULL,
    issued_before BIGINT NOT NULL,
    ends_at       BIGINT NOT NULL,
    reason        TEXT   NOT NULL,
    by_sub        TEXT   NOT NULL,
    at            BIGINT NOT NULL,
    seq           BIGINT NOT NULL,
    PRIMARY KEY (game, kind, id)
);
CREATE UNIQUE INDEX bars_seq ON bars (seq);
CREATE INDEX bars_game ON bars (game, seq);
CREATE INDEX bars_ended ON bars (ends_at) WHERE ends_at > 0;

-- +goose Down
DROP TABLE bars;
DROP TABLE barring;
DROP TABLE accounts;
