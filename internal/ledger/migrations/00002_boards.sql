-- Rolling boards, teams, corrections, and days that are over.

-- +goose Up

-- Kind of the holder whose entry a row changes: player or team; '' for the start of a
-- day. Of a correction: the day and the position of the corrected row, and the newest
-- remaining positions of all days and of that day.
ALTER TABLE entries RENAME COLUMN player TO holder;
ALTER TABLE entries ADD COLUMN whose TEXT NOT NULL DEFAULT 'player';
ALTER TABLE entries ADD COLUMN of_day TEXT NOT NULL DEFAULT '';
ALTER TABLE entries ADD COLUMN of_pos BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN newest BIGINT NOT NULL DEFAULT 0;
ALTER TABLE entries ADD COLUMN newest_of_day BIGINT NOT NULL DEFAULT 0;
CREATE INDEX entries_holder ON entries (game, whose, holder, pos);
CREATE UNIQUE INDEX entries_corrected ON entries (game, of_pos) WHERE of_pos > 0;

-- Why a row was taken back, and who did it.
CREATE TABLE corrections (
    game   TEXT   NOT NULL,
    pos    BIGINT NOT NULL,
    reason TEXT   NOT NULL,
    by_sub TEXT   NOT NULL,
    PRIMARY KEY (game, pos)
);

-- The days of a game. pos is the position of the row that starts the day. summed is 1
-- once table sums has the whole past day; until then it has the rows up to summed_to.
-- Days are summed one after the other. Every correction draws a new version.
CREATE TABLE days (
    game      TEXT   NOT NULL,
    day       TEXT   NOT NULL,
    pos       BIGINT NOT NULL,
    summed    BIGINT NOT NULL DEFAULT 0,
    summed_to BIGINT NOT NULL DEFAULT 0,
    version   BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (game, day)
);
CREATE INDEX days_unsummed ON days (game, day) WHERE summed = 0;

-- What each holder has from each day that is over: results less corrections.
CREATE TABLE sums (
    game     TEXT   NOT NULL,
    whose    TEXT   NOT NULL,
    holder   TEXT   NOT NULL,
    day      TEXT   NOT NULL,
    newest   BIGINT NOT NULL,
    at       BIGINT NOT NULL,
    score    BIGINT NOT NULL,
    time_ms  BIGINT NOT NULL,
    limit_ms BIGINT NOT NULL,
    matches  BIGINT NOT NULL,
    asked    BIGINT NOT NULL,
    answered BIGINT NOT NULL,
    correct  BIGINT NOT NULL,
    PRIMARY KEY (game, whose, holder, day)
);
CREATE INDEX sums_day ON sums (game, day, whose, holder);

-- How often two players have met on a day in duels that count.
CREATE TABLE pairs (
    game   TEXT   NOT NULL,
    day    TEXT   NOT NULL,
    one    TEXT   NOT NULL,
    other  TEXT   NOT NULL,
    duels  BIGINT NOT NULL,
    PRIMARY KEY (game, day, one, other)
);

-- The teams of ranked arenas, by the name of the newest.
CREATE TABLE teams (
    game TEXT NOT NULL,
    id   TEXT NOT NULL,
    name TEXT NOT NULL,
    PRIMARY KEY (game, id)
);

-- The days that there are already.
INSERT INTO days (game, day, pos) SELECT game, day, MIN(pos) FROM entries WHERE kind = 'day.turn' GROUP BY game, day;
UPDATE entries SET whose = '' WHERE kind = 'day.turn';

-- +goose Down
-- No position may be missing: a correction is a result that takes away, and a
-- team's entry turns to the day that it is.
UPDATE entries SET kind = 'result' WHERE kind = 'correction' AND whose = 'player';
UPDATE entries SET kind = 'day.turn', holder = '', score = 0, time_ms = 0, limit_ms = 0, matches = 0, asked = 0, answered = 0, correct = 0
WHERE whose = 'team';
DROP TABLE teams;
DROP TABLE pairs;
DROP TABLE sums;
DROP TABLE days;
DROP TABLE corrections;
DROP INDEX entries_corrected;
DROP INDEX entries_holder;
ALTER TABLE entries DROP COLUMN newest_of_day;
ALTER TABLE entries DROP COLUMN newest;
ALTER TABLE entries DROP COLUMN of_pos;
ALTER TABLE entries DROP COLUMN of_day;
ALTER TABLE entries DROP COLUMN whose;
ALTER TABLE entries RENAME COLUMN holder TO player;
