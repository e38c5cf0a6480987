-- +goose Up

-- How many finished tasks there are, so that ListTasks never counts them. A row holds its
-- context's numbers and, in the row with the principal's highest rev, the principal's own
-- (all_*): one row write keeps both. Live tasks are few and counted over tasks_live.
CREATE TABLE counters (
  principal_id  TEXT    NOT NULL REFERENCES principals (id),
  context_id    TEXT    NOT NULL,
  rev           INTEGER NOT NULL,
  completed     INTEGER NOT NULL,
  failed        INTEGER NOT NULL,
  canceled      INTEGER NOT NULL,
  rejected      INTEGER NOT NULL,
  all_completed INTEGER NOT NULL,
  all_failed    INTEGER NOT NULL,
  all_canceled  INTEGER NOT NULL,
  all_rejected  INTEGER NOT NULL,
  PRIMARY KEY (principal_id, context_id)
) STRICT;

CREATE UNIQUE INDEX counters_by_rev ON counters (principal_id, rev);

-- Contexts whose tasks have all been evicted; the next eviction clears them away.
CREATE INDEX counters_empty ON counters (principal_id, rev)
  WHERE completed + failed + canceled + rejected = 0;

-- Running sums: the last row by rev ends up with the principal's totals.
INSERT INTO counters
SELECT c.principal_id, c.context_id,
  row_number() OVER (PARTITION BY c.principal_id ORDER BY c.context_id),
  c.completed, c.failed, c.canceled, c.rejected,
  sum(c.completed) OVER (PARTITION BY c.principal_id ORDER BY c.context_id),
  sum(c.failed) OVER (PARTITION BY c.principal_id ORDER BY c.context_id),
  sum(c.canceled) OVER (PARTITION BY c.principal_id ORDER BY c.context_id),
  sum(c.rejected) OVER (PARTITION BY c.principal_id ORDER BY c.context_id)
FROM (
  SELECT principal_id, context_id,
    sum(state = 10) AS completed, sum(state = 11) AS failed,
    sum(state = 12) AS canceled, sum(state = 13) AS rejected
  FROM tasks WHERE state >= 10 GROUP BY principal_id, context_id
) AS c;

-- +goose Down
DROP TABLE counters;
