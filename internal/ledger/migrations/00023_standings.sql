-- The standings of a settled match are read in pages: each row of seats is one.

-- +goose Up

-- seq is the place in the list of standings, from 0, in which bots have theirs
-- too. rating is the one shown after a rated match, and rating_delta what it
-- changed by; both are 0 after an unrated match.
ALTER TABLE seats ADD COLUMN seq BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN team TEXT NOT NULL DEFAULT '';
ALTER TABLE seats ADD COLUMN answered BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN asked BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN time_ms BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN rating BIGINT NOT NULL DEFAULT 0;
ALTER TABLE seats ADD COLUMN rating_delta BIGINT NOT NULL DEFAULT 0;
CREATE INDEX seats_match ON seats (game, match_id, seq);

-- +goose Down
DROP INDEX seats_match;
ALTER TABLE seats DROP COLUMN rating_delta;
ALTER TABLE seats DROP COLUMN rating;
ALTER TABLE seats DROP COLUMN time_ms;
ALTER TABLE seats DROP COLUMN asked;
ALTER TABLE seats DROP COLUMN answered;
ALTER TABLE seats DROP COLUMN team;
ALTER TABLE seats DROP COLUMN seq;
