-- name: PrincipalsAfter :many
-- unscoped: ids only, to walk all principals in bounded steps.
SELECT id FROM principals WHERE id > @after ORDER BY id LIMIT @n;

-- name: LiveTasks :many
SELECT id, context_id, status_ts FROM tasks INDEXED BY tasks_live
WHERE principal_id = @principal_id AND state < 10 LIMIT @n;

-- name: Expired :many
SELECT id FROM tasks INDEXED BY tasks_by_time
WHERE principal_id = @principal_id AND status_ts < @cutoff AND state >= 10
ORDER BY status_ts, id LIMIT @n;

-- name: OldestOfContext :many
SELECT id FROM tasks INDEXED BY tasks_by_context
WHERE principal_id = @principal_id AND context_id = @context_id AND state >= 10
ORDER BY status_ts, id LIMIT @n;

-- name: ContextsAfter :many
SELECT context_id, completed + failed + canceled + rejected AS done FROM counters
WHERE principal_id = @principal_id AND context_id > @after ORDER BY context_id LIMIT @n;

-- Evict takes a finished task with all its rows; no row means that it is live or gone.
-- name: Evict :one
DELETE FROM tasks WHERE principal_id = @principal_id AND id = @id AND state >= 10
RETURNING context_id, state;

-- DropEmptyCounters spares the newest row, which holds the principal's totals.
-- name: DropEmptyCounters :exec
DELETE FROM counters
WHERE principal_id = @principal_id AND rev < @rev AND completed + failed + canceled + rejected = 0;

-- name: ReleaseSession :execrows
-- unscoped: an operator frees an agent's session by its id, whoever holds it.
DELETE FROM sessions WHERE id = @id;

-- SessionsAfter tells an operator which sessions there are to free, not whose they are.
-- name: SessionsAfter :many
-- unscoped: ids only.
SELECT id FROM sessions WHERE id > @after ORDER BY id LIMIT @n;

-- name: ReleaseOwned :execrows
-- unscoped: keyed by the agent's session; those of the view's own principal.
DELETE FROM sessions WHERE owner = @principal_id;

-- name: CountContexts :one
SELECT COUNT(*) AS n FROM (
  SELECT d.context_id FROM tasks AS d INDEXED BY tasks_by_context WHERE d.principal_id = @principal_id AND d.state >= 10
  UNION
  SELECT l.context_id FROM tasks AS l INDEXED BY tasks_live WHERE l.principal_id = @principal_id AND l.state < 10
) AS c;

-- name: CountExpired :one
SELECT COUNT(*) AS n FROM tasks INDEXED BY tasks_by_time
WHERE principal_id = @principal_id AND status_ts < @cutoff AND state >= 10;

-- name: DropCounters :exec
DELETE FROM counters WHERE principal_id = @principal_id;

-- DropPrincipal fails while the principal has tasks or counters.
-- name: DropPrincipal :execrows
-- unscoped: principals holds ids only, and this one is the view's own.
DELETE FROM principals WHERE id = @principal_id;

-- name: AddMeta :exec
-- unscoped: settings of the file.
INSERT INTO meta (name, value) VALUES (@name, @value) ON CONFLICT (name) DO NOTHING;

-- name: Meta :one
-- unscoped: settings of the file.
SELECT value FROM meta WHERE name = @name;
