-- The answers of settled matches, and how old matches are found.

-- The answers of up to 100 players whose standings follow each other: the player with
-- standing_index i is in block i / 100. docs/reference/answers.md describes the form of answers, of
-- texts (JSON), and of questions, which only block 0 has.
CREATE TABLE answers (
    game      TEXT   NOT NULL,
    over_at   BIGINT NOT NULL,
    match_id  TEXT   NOT NULL,
    block     BIGINT NOT NULL,
    questions BYTEA  NOT NULL,
    answers   BYTEA  NOT NULL,
    texts     TEXT   NOT NULL,
    PRIMARY KEY (game, over_at, match_id, block)
);

-- The questions of stored matches, as they were asked. question is JSON, with the choices
-- in an order that all matches share. hash identifies the JSON. asked_at is at most a day
-- older than the newest match with the question.
CREATE TABLE asked_questions (
    id       BIGINT PRIMARY KEY,
    game     TEXT   NOT NULL,
    hash     TEXT   NOT NULL,
    question TEXT   NOT NULL,
    asked_at BIGINT NOT NULL
);
CREATE UNIQUE INDEX asked_questions_hash ON asked_questions (game, hash);
CREATE INDEX asked_questions_asked_at ON asked_questions (game, asked_at);

-- The end of the match; 0 in rows of a program before this migration.
ALTER TABLE matches ADD COLUMN over_at BIGINT NOT NULL DEFAULT 0;
CREATE INDEX matches_over_at ON matches (game, over_at, id);

-- The last match of the player in which the given answers were erased.
ALTER TABLE erasures ADD COLUMN answers_over_at BIGINT NOT NULL DEFAULT 0;
ALTER TABLE erasures ADD COLUMN answers_match_id TEXT NOT NULL DEFAULT '';
