-- +goose Up
CREATE TABLE owners (id TEXT NOT NULL PRIMARY KEY, visits INTEGER NOT NULL DEFAULT 0) STRICT;

CREATE TABLE jobs (
  note         TEXT NOT NULL DEFAULT '',
  principal_id TEXT NOT NULL REFERENCES owners (id), -- not the first column on purpose
  id           TEXT NOT NULL,
  grp          TEXT NOT NULL,
  state        INTEGER NOT NULL,
  ts           INTEGER NOT NULL,
  loud         TEXT GENERATED ALWAYS AS (upper(note)) VIRTUAL,
  PRIMARY KEY (principal_id, id)
) STRICT;
CREATE INDEX jobs_by_ts ON jobs (principal_id, ts, id);
CREATE INDEX jobs_open ON jobs (principal_id, grp) WHERE state < 10;

CREATE TABLE lines (
  principal_id TEXT NOT NULL,
  job_id       TEXT NOT NULL,
  seq          INTEGER NOT NULL,
  body         BLOB NOT NULL,
  PRIMARY KEY (principal_id, job_id, seq),
  FOREIGN KEY (principal_id, job_id) REFERENCES jobs (principal_id, id) ON DELETE CASCADE
) STRICT;

CREATE TABLE marks (
  principal_id TEXT NOT NULL,
  name         TEXT NOT NULL,
  value        TEXT,
  PRIMARY KEY (principal_id, name)
) STRICT, WITHOUT ROWID;

CREATE VIEW everything AS SELECT principal_id, id FROM jobs;

-- +goose Down
CREATE TABLE never_made (principal_id INTEGER PRIMARY KEY);
