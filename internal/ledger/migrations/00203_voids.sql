-- Questions that were made void after their match. voided_by is the operator, or '' for the
-- host of the arena.
CREATE TABLE voids (
    game      TEXT   NOT NULL,
    match_id  TEXT   NOT NULL,
    question  BIGINT NOT NULL,
    reason    TEXT   NOT NULL,
    voided_by TEXT   NOT NULL,
    voided_at BIGINT NOT NULL,
    PRIMARY KEY (game, match_id, question)
);

-- Whether the player left an arena before its end; such players rank last.
ALTER TABLE seats ADD COLUMN has_left BIGINT NOT NULL DEFAULT 0;

-- A correction that changes the values of a result has the position of that result here, and
-- 0 in corrected_pos. The values of the result are its own plus those of such corrections.
ALTER TABLE entries ADD COLUMN adjusted_pos BIGINT NOT NULL DEFAULT 0;
CREATE INDEX entries_adjusted ON entries (game, adjusted_pos) WHERE adjusted_pos > 0;
