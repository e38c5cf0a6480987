-- +goose Up

-- The orders that lists are read in hold finished tasks only, which enter once and never
-- move: a live task that changes state rewrites no leaf of them. Live tasks are few and are
-- read over tasks_live.
DROP INDEX tasks_by_time;
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_time ON tasks (principal_id, status_ts, id, state) WHERE state >= 10;
CREATE INDEX tasks_by_context ON tasks (principal_id, context_id, status_ts, id, state) WHERE state >= 10;

-- +goose Down
DROP INDEX tasks_by_time;
DROP INDEX tasks_by_context;
CREATE INDEX tasks_by_time ON tasks (principal_id, status_ts, id, state);
CREATE INDEX tasks_by_context ON tasks (principal_id, context_id, status_ts, id, state);
