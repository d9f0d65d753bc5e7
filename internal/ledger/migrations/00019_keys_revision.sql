-- Keys have a revision of their own, so that a ban makes no node read its keys again:
-- the one of the last change that was of keys.

-- +goose Up
ALTER TABLE barring ADD COLUMN keys_seq BIGINT NOT NULL DEFAULT 0;
UPDATE barring SET keys_seq = seq;

-- +goose Down
ALTER TABLE barring DROP COLUMN keys_seq;
