-- What one operator did is found without reading what all others did.

-- +goose Up
CREATE INDEX acts_by_who ON acts (who, at, id);

-- +goose Down
DROP INDEX acts_by_who;
