-- A table with a principal_id column is scoped: every key of it begins with that
-- column, and sqlc-gen-view refuses a statement that could reach another principal's rows.

-- +goose Up

-- The file's identity, "a2as", in the header of the file.
PRAGMA application_id = 1630691699;

-- Who has tasks here. Ids only: maintenance walks it and works through each one's view.
CREATE TABLE principals (
  id TEXT NOT NULL PRIMARY KEY
) STRICT;

-- state is a code of impl/store: below 10 the task is live, from 10 on it never changes again.
-- trail lists every transition as "code:ms;", with a "+" before the ";" where the status
-- carried a message: that document is then the next row of statuses.
CREATE TABLE tasks (
  principal_id TEXT    NOT NULL REFERENCES principals (id),
  id           TEXT    NOT NULL,
  context_id   TEXT    NOT NULL,
  state        INTEGER NOT NULL,
  status_ts    INTEGER NOT NULL, -- milliseconds, as all times here
  created_ts   INTEGER NOT NULL,
  status       BLOB    NOT NULL,
  trail        TEXT    NOT NULL,
  PRIMARY KEY (principal_id, id)
) STRICT;

CREATE INDEX tasks_by_time ON tasks (principal_id, status_ts, id, state);
CREATE INDEX tasks_by_context ON tasks (principal_id, context_id, status_ts, id, state);
CREATE INDEX tasks_live ON tasks (principal_id, context_id, state) WHERE state < 10;
CREATE INDEX tasks_done ON tasks (principal_id, state, status_ts, id) WHERE state >= 10;

-- Status documents that carry a message. A bare status is a step of tasks.trail and no row.
CREATE TABLE statuses (
  principal_id TEXT    NOT NULL,
  task_id      TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  doc          BLOB    NOT NULL,
  PRIMARY KEY (principal_id, task_id, seq),
  FOREIGN KEY (principal_id, task_id) REFERENCES tasks (principal_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE messages (
  principal_id TEXT    NOT NULL,
  task_id      TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  doc          BLOB    NOT NULL,
  PRIMARY KEY (principal_id, task_id, seq),
  FOREIGN KEY (principal_id, task_id) REFERENCES tasks (principal_id, id) ON DELETE CASCADE
) STRICT;

-- A chunk is a row, so that a long answer never rewrites what is stored already.
CREATE TABLE artifacts (
  principal_id TEXT    NOT NULL,
  task_id      TEXT    NOT NULL,
  seq          INTEGER NOT NULL,
  artifact_id  TEXT    NOT NULL,
  append       INTEGER NOT NULL, -- 1: the parts continue the artifact; 0: they begin or replace it
  doc          BLOB    NOT NULL,
  PRIMARY KEY (principal_id, task_id, seq),
  FOREIGN KEY (principal_id, task_id) REFERENCES tasks (principal_id, id) ON DELETE CASCADE
) STRICT;

-- One-session agents: which context holds the agent's session, and whose it is. Keyed by
-- the session, so not a scoped table: every read names the owner.
CREATE TABLE sessions (
  id         TEXT NOT NULL PRIMARY KEY,
  owner      TEXT NOT NULL,
  context_id TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
  name  TEXT NOT NULL PRIMARY KEY,
  value BLOB NOT NULL
) STRICT;

-- +goose Down
DROP TABLE meta;
DROP TABLE sessions;
DROP TABLE artifacts;
DROP TABLE messages;
DROP TABLE statuses;
DROP TABLE tasks;
DROP TABLE principals;
