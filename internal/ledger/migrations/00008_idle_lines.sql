-- A line that nothing goes through any more is forgotten with its last task.

-- +goose Up

-- moved_at is when a task last got a place in the line, or left its head.
ALTER TABLE lines ADD COLUMN moved_at BIGINT NOT NULL DEFAULT 0;

-- +goose Down
ALTER TABLE lines DROP COLUMN moved_at;
