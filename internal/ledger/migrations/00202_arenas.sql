-- The arenas, also those without a result in matches. host and name are '' after the host
-- was erased.
CREATE TABLE arenas (
    game       TEXT   NOT NULL,
    match_id   TEXT   NOT NULL,
    host       TEXT   NOT NULL,
    name       TEXT   NOT NULL,
    mode       TEXT   NOT NULL,
    created_at BIGINT NOT NULL,
    PRIMARY KEY (game, match_id)
);
CREATE INDEX arenas_host ON arenas (game, host, created_at, match_id);
CREATE INDEX arenas_created_at ON arenas (game, created_at);
