-- name: AddPrincipal :exec
-- unscoped: principals holds ids only, and this one is the view's own.
INSERT INTO principals (id) VALUES (@principal_id) ON CONFLICT (id) DO NOTHING;

-- name: AddTask :exec
INSERT INTO tasks (principal_id, id, context_id, state, status_ts, created_ts, status, trail)
VALUES (@principal_id, @id, @context_id, @state, @status_ts, @created_ts, @status, @trail);

-- SetStatus moves a live task on; no row means that there is no such task or that it has
-- ended. It returns nothing else: RETURNING would cost as much again.
-- name: SetStatus :execrows
UPDATE tasks
SET state = @state, status_ts = @status_ts, status = @status, trail = trail || CAST(@steps AS TEXT)
WHERE principal_id = @principal_id AND id = @id AND context_id = @context_id AND state < 10;

-- name: AddStatus :exec
INSERT INTO statuses (principal_id, task_id, seq, doc) VALUES (@principal_id, @task_id, @seq, @doc);

-- name: AddMessage :exec
INSERT INTO messages (principal_id, task_id, seq, doc) VALUES (@principal_id, @task_id, @seq, @doc);

-- name: AddArtifact :exec
INSERT INTO artifacts (principal_id, task_id, seq, artifact_id, append, doc)
VALUES (@principal_id, @task_id, @seq, @artifact_id, @append, @doc);

-- name: NextStatusSeq :one
SELECT CAST(COALESCE(MAX(seq) + 1, 0) AS INTEGER) AS seq FROM statuses
WHERE principal_id = @principal_id AND task_id = @task_id;

-- name: PutCounters :exec
INSERT INTO counters (principal_id, context_id, rev, completed, failed, canceled, rejected,
  all_completed, all_failed, all_canceled, all_rejected)
VALUES (@principal_id, @context_id, @rev, @completed, @failed, @canceled, @rejected,
  @all_completed, @all_failed, @all_canceled, @all_rejected)
ON CONFLICT (principal_id, context_id) DO UPDATE SET rev = excluded.rev,
  completed = excluded.completed, failed = excluded.failed,
  canceled = excluded.canceled, rejected = excluded.rejected,
  all_completed = excluded.all_completed, all_failed = excluded.all_failed,
  all_canceled = excluded.all_canceled, all_rejected = excluded.all_rejected;

-- name: ClaimSession :exec
-- unscoped: keyed by the agent's session; the first owner stays.
INSERT INTO sessions (id, owner, context_id) VALUES (@id, @principal_id, @context_id) ON CONFLICT DO NOTHING;

-- name: SessionContext :one
-- unscoped: keyed by the agent's session; a session of another owner is no row.
SELECT context_id FROM sessions WHERE id = @id AND owner = @principal_id;
