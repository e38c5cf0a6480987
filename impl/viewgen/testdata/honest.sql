-- Statements that keep to one principal, or reach no scoped table and say why they may.

-- name: One
SELECT id, note, loud FROM jobs WHERE principal_id = @principal_id AND id = @id;

-- name: Flipped
SELECT id FROM jobs WHERE @principal_id = principal_id AND grp = 'a' AND state < 10;

-- name: Newest
SELECT id, ts FROM jobs WHERE principal_id = @principal_id AND (ts, id) < (CAST(@ts AS INTEGER), CAST(@id AS TEXT))
ORDER BY ts DESC, id DESC LIMIT @n;

-- name: Between
SELECT id FROM jobs WHERE principal_id BETWEEN @principal_id AND @principal_id;

-- name: Alternatives
SELECT id FROM jobs WHERE principal_id = @principal_id AND (id = @id OR ts = @ts OR state = 3);

-- name: EitherSide
SELECT id FROM jobs WHERE (principal_id = @principal_id AND id = @id) OR (principal_id = @principal_id AND ts > @ts);

-- name: WithLines
SELECT j.id, l.seq FROM jobs j JOIN lines l ON l.principal_id = j.principal_id AND l.job_id = j.id
WHERE j.principal_id = @principal_id ORDER BY j.ts, l.seq;

-- name: EvenWithout
SELECT j.id, l.seq FROM jobs j LEFT JOIN lines l ON l.principal_id = j.principal_id AND l.job_id = j.id
WHERE j.principal_id = @principal_id;

-- name: ThroughOwners
SELECT j.id FROM owners o JOIN jobs j ON j.principal_id = o.id WHERE o.id = @principal_id AND j.principal_id = @principal_id;

-- name: Correlated
SELECT j.id, (SELECT MAX(l.seq) FROM lines l WHERE l.principal_id = j.principal_id AND l.job_id = j.id) AS top
FROM jobs j WHERE j.principal_id = @principal_id;

-- name: InSubselect
SELECT j.id FROM jobs j WHERE j.principal_id = @principal_id AND j.id IN
  (SELECT l.job_id FROM lines l WHERE l.principal_id = @principal_id AND l.seq = 0);

-- name: NotThere
SELECT j.id FROM jobs j WHERE j.principal_id = @principal_id AND NOT EXISTS
  (SELECT 1 FROM lines l WHERE l.principal_id = @principal_id AND l.job_id = j.id);

-- name: Mine
WITH mine AS (SELECT id, ts FROM jobs WHERE principal_id = @principal_id) SELECT id FROM mine WHERE ts > @ts;

-- name: Both
SELECT j.id FROM jobs j WHERE j.principal_id = @principal_id
UNION SELECT l.job_id FROM lines l WHERE l.principal_id = @principal_id;

-- name: Counted
SELECT state, COUNT(*) AS n FROM jobs WHERE principal_id = @principal_id GROUP BY state HAVING COUNT(*) > 1;

-- name: Extremes
SELECT CAST(MAX(ts) AS INTEGER) AS top FROM jobs WHERE principal_id = @principal_id;

-- name: Ranked
SELECT id, row_number() OVER (PARTITION BY grp ORDER BY ts) AS place FROM jobs WHERE principal_id = @principal_id;

-- name: Some
SELECT id, note FROM jobs WHERE principal_id = @principal_id AND id IN (sqlc.slice('ids'));

-- name: Known
SELECT EXISTS (SELECT 1 FROM jobs WHERE principal_id = @principal_id AND id = @id) AS found;

-- name: ThroughView
SELECT id FROM everything WHERE principal_id = @principal_id;

-- name: Add
INSERT INTO jobs (note, principal_id, id, grp, state, ts) VALUES (@note, @principal_id, @id, @grp, @state, @ts);

-- name: AddOrKeep
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES (@principal_id, @id, @grp, @state, @ts) ON CONFLICT DO NOTHING;

-- name: AddOrChange
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES (@principal_id, @id, @grp, @state, @ts)
ON CONFLICT (principal_id, id) DO UPDATE SET state = excluded.state, ts = excluded.ts + jobs.ts RETURNING ts;

-- name: AddOrReplace
INSERT OR REPLACE INTO jobs (principal_id, id, grp, state, ts) VALUES (@principal_id, @id, @grp, @state, @ts);

-- name: CopyOwn
INSERT INTO lines (principal_id, job_id, seq, body) SELECT j.principal_id, j.id, 0, @body FROM jobs j WHERE j.principal_id = @principal_id;

-- name: Change
UPDATE jobs SET state = @state, note = note || CAST(@more AS TEXT) WHERE principal_id = @principal_id AND id = @id RETURNING grp;

-- name: ChangeMany
UPDATE jobs SET ts = ts + 1 WHERE principal_id = @principal_id AND ts < @ts;

-- name: Remove
DELETE FROM jobs WHERE principal_id = @principal_id AND id = @id RETURNING state;

-- name: RemoveOldest
DELETE FROM jobs WHERE jobs.principal_id = @principal_id AND jobs.id IN
  (SELECT o.id FROM jobs o WHERE o.principal_id = @principal_id AND o.state >= 10 ORDER BY o.ts LIMIT @n);

-- name: Mark
INSERT INTO marks (principal_id, name, value) VALUES (@principal_id, @name, @value)
ON CONFLICT (principal_id, name) DO UPDATE SET value = excluded.value;

-- name: Unmark
DELETE FROM marks WHERE principal_id = @principal_id AND name > @name;

-- name: Owners
-- unscoped: ids only.
SELECT id FROM owners WHERE id > @after ORDER BY id LIMIT @n;
