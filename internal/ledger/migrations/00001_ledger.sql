-- One text for SQLite and PostgreSQL: ids and JSON are TEXT, instants BIGINT in
-- epoch milliseconds.

-- +goose Up

-- One row about the ledger as a whole.
CREATE TABLE about (
    one           BIGINT PRIMARY KEY CHECK (one = 1),
    epoch         TEXT   NOT NULL,
    bank_revision BIGINT NOT NULL DEFAULT 0
);

-- The totals are the sums of the player's rows in entries. rating is JSON, ''
-- before the first rated match. Players of an operator's own login service
-- have no device.
CREATE TABLE players (
    game        TEXT   NOT NULL,
    id          TEXT   NOT NULL,
    device_hash TEXT,
    nickname    TEXT   NOT NULL,
    skeleton    TEXT   NOT NULL,
    named_at    BIGINT NOT NULL,
    joined_at   BIGINT NOT NULL,
    rating      TEXT   NOT NULL DEFAULT '',
    rated       BIGINT NOT NULL DEFAULT 0,
    score       BIGINT NOT NULL DEFAULT 0,
    time_ms     BIGINT NOT NULL DEFAULT 0,
    limit_ms    BIGINT NOT NULL DEFAULT 0,
    matches     BIGINT NOT NULL DEFAULT 0,
    asked       BIGINT NOT NULL DEFAULT 0,
    answered    BIGINT NOT NULL DEFAULT 0,
    correct     BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, id)
);
CREATE UNIQUE INDEX players_device ON players (game, device_hash);
CREATE UNIQUE INDEX players_name ON players (game, skeleton);
CREATE INDEX players_named ON players (game, named_at);

-- The matches that are settled, each once. result is JSON.
CREATE TABLE matches (
    game   TEXT NOT NULL,
    id     TEXT NOT NULL,
    result TEXT NOT NULL,
    PRIMARY KEY (game, id)
);

-- The human seats of the settled matches: a player's history.
CREATE TABLE seats (
    game     TEXT   NOT NULL,
    player   TEXT   NOT NULL,
    over_at  BIGINT NOT NULL,
    match_id TEXT   NOT NULL,
    mode     TEXT   NOT NULL,
    place    BIGINT NOT NULL,
    score    BIGINT NOT NULL,
    correct  BIGINT NOT NULL,
    players  BIGINT NOT NULL,
    PRIMARY KEY (game, player, over_at, match_id)
);

-- The last position of each game and the day it belongs to. Who writes entries
-- holds the lock on this row.
CREATE TABLE heads (
    game      TEXT   PRIMARY KEY,
    pos       BIGINT NOT NULL,
    day       TEXT   NOT NULL,
    first_day TEXT   NOT NULL
);

-- The ledger itself, append-only: positions count from 1 in commit order.
CREATE TABLE entries (
    game     TEXT   NOT NULL,
    pos      BIGINT NOT NULL,
    id       TEXT   NOT NULL,
    kind     TEXT   NOT NULL,
    day      TEXT   NOT NULL,
    at       BIGINT NOT NULL,
    match_id TEXT   NOT NULL,
    player   TEXT   NOT NULL,
    score    BIGINT NOT NULL,
    time_ms  BIGINT NOT NULL,
    limit_ms BIGINT NOT NULL,
    matches  BIGINT NOT NULL,
    asked    BIGINT NOT NULL,
    answered BIGINT NOT NULL,
    correct  BIGINT NOT NULL,
    PRIMARY KEY (game, pos)
);

-- Token keys. Number 1 of a game is the one that a first start generated.
CREATE TABLE keys (
    game       TEXT   NOT NULL,
    number     BIGINT NOT NULL,
    id         TEXT   NOT NULL,
    alg        TEXT   NOT NULL,
    secret     BYTEA  NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (game, number)
);

CREATE TABLE banks (
    name TEXT PRIMARY KEY
);

-- question is JSON.
CREATE TABLE questions (
    bank     TEXT NOT NULL REFERENCES banks (name) ON DELETE CASCADE,
    id       TEXT NOT NULL,
    question TEXT NOT NULL,
    PRIMARY KEY (bank, id)
);

-- +goose Down
DROP TABLE questions;
DROP TABLE banks;
DROP TABLE keys;
DROP TABLE entries;
DROP TABLE heads;
DROP TABLE seats;
DROP TABLE matches;
DROP TABLE players;
DROP TABLE about;
