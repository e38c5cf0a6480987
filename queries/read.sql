-- Whole is all that GetTask reads, as one statement: it sees one state without a transaction
-- around it. Part 0 is the task: its context, state and status. Part 1 are its messages,
-- part 2 its artifacts: an id, whether it is continued, a document.
-- name: Whole :many
SELECT 0 AS part, 0 AS seq, context_id AS name, state AS code, status AS doc FROM tasks
WHERE tasks.principal_id = @principal_id AND tasks.id = @id
UNION ALL SELECT 1, seq, '', 0, doc FROM messages
WHERE messages.principal_id = @principal_id AND messages.task_id = @id
UNION ALL SELECT 2, seq, artifact_id, append, doc FROM artifacts
WHERE artifacts.principal_id = @principal_id AND artifacts.task_id = @id
ORDER BY part, seq;

-- name: Trail :one
SELECT trail FROM tasks WHERE principal_id = @principal_id AND id = @id;

-- name: Statuses :many
SELECT doc FROM statuses WHERE principal_id = @principal_id AND task_id = @task_id ORDER BY seq;

-- Page is in the order of A2A 3.1.4 and begins below (before_ts, before_id). There is one
-- such statement for each index that serves it, named since SQLite keeps no statistics
-- here and would guess. These read finished tasks; live ones come from PageOfLive. sqlc
-- wants this file in ASCII.
-- name: Page :many
SELECT id, context_id, state, status_ts, status FROM tasks INDEXED BY tasks_by_time
WHERE principal_id = @principal_id AND state >= 10 AND status_ts >= @after
  AND (status_ts, id) < (CAST(@before_ts AS INTEGER), CAST(@before_id AS TEXT))
ORDER BY status_ts DESC, id DESC LIMIT @n;

-- name: PageOfContext :many
SELECT id, context_id, state, status_ts, status FROM tasks INDEXED BY tasks_by_context
WHERE principal_id = @principal_id AND context_id = @context_id AND state >= 10 AND status_ts >= @after
  AND (status_ts, id) < (CAST(@before_ts AS INTEGER), CAST(@before_id AS TEXT))
ORDER BY status_ts DESC, id DESC LIMIT @n;

-- name: PageOfContextInState :many
SELECT id, context_id, state, status_ts, status FROM tasks INDEXED BY tasks_by_context
WHERE principal_id = @principal_id AND context_id = @context_id AND state = @state AND state >= 10 AND status_ts >= @after
  AND (status_ts, id) < (CAST(@before_ts AS INTEGER), CAST(@before_id AS TEXT))
ORDER BY status_ts DESC, id DESC LIMIT @n;

-- name: PageOfDone :many
SELECT id, context_id, state, status_ts, status FROM tasks INDEXED BY tasks_done
WHERE principal_id = @principal_id AND state = @state AND state >= 10 AND status_ts >= @after
  AND (status_ts, id) < (CAST(@before_ts AS INTEGER), CAST(@before_id AS TEXT))
ORDER BY status_ts DESC, id DESC LIMIT @n;

-- PageOfLive takes any context where context_id is empty and any live state where state is 0.
-- name: PageOfLive :many
SELECT id, context_id, state, status_ts, status FROM tasks INDEXED BY tasks_live
WHERE principal_id = @principal_id AND state < 10 AND status_ts >= @after
  AND (CAST(@context_id AS TEXT) = '' OR context_id = @context_id) AND (CAST(@state AS INTEGER) = 0 OR state = @state)
  AND (status_ts, id) < (CAST(@before_ts AS INTEGER), CAST(@before_id AS TEXT))
ORDER BY status_ts DESC, id DESC LIMIT @n;

-- name: MessagesOf :many
SELECT task_id, doc FROM messages
WHERE principal_id = @principal_id AND task_id IN (sqlc.slice('ids'))
ORDER BY task_id, seq;

-- name: LastMessagesOf :many
SELECT m.task_id, m.doc FROM messages m
WHERE m.principal_id = @principal_id
  AND m.seq > (SELECT MAX(l.seq) FROM messages l WHERE l.principal_id = @principal_id AND l.task_id = m.task_id) - CAST(@n AS INTEGER)
  AND m.task_id IN (sqlc.slice('ids'))
ORDER BY m.task_id, m.seq;

-- name: ArtifactsOf :many
SELECT task_id, artifact_id, append, doc FROM artifacts
WHERE principal_id = @principal_id AND task_id IN (sqlc.slice('ids'))
ORDER BY task_id, seq;

-- name: Counters :one
SELECT rev, completed, failed, canceled, rejected FROM counters
WHERE principal_id = @principal_id AND context_id = @context_id;

-- name: Totals :one
SELECT rev, all_completed, all_failed, all_canceled, all_rejected FROM counters
WHERE principal_id = @principal_id ORDER BY rev DESC LIMIT 1;

-- name: CountLive :many
SELECT state, COUNT(*) AS n FROM tasks INDEXED BY tasks_live
WHERE principal_id = @principal_id AND state < 10 GROUP BY state;

-- name: CountLiveOfContext :many
SELECT state, COUNT(*) AS n FROM tasks INDEXED BY tasks_live
WHERE principal_id = @principal_id AND context_id = @context_id AND state < 10 GROUP BY state;

-- CountSince serves the timestamp filter, which alone counts finished tasks: it reads an index and no row.
-- name: CountSince :many
SELECT state, COUNT(*) AS n FROM tasks INDEXED BY tasks_by_time
WHERE principal_id = @principal_id AND state >= 10 AND status_ts >= @after GROUP BY state;

-- name: CountOfContextSince :many
SELECT state, COUNT(*) AS n FROM tasks INDEXED BY tasks_by_context
WHERE principal_id = @principal_id AND context_id = @context_id AND state >= 10 AND status_ts >= @after GROUP BY state;

-- CountLiveSince takes any context where context_id is empty.
-- name: CountLiveSince :many
SELECT state, COUNT(*) AS n FROM tasks INDEXED BY tasks_live
WHERE principal_id = @principal_id AND state < 10 AND status_ts >= @after
  AND (CAST(@context_id AS TEXT) = '' OR context_id = @context_id) GROUP BY state;
