-- Statements that could reach another principal's rows. "want" is what the refusal must say.

-- name: Everything
-- want: jobs
SELECT id FROM jobs;

-- name: ById
-- want: jobs without a parameter @principal_id
SELECT note FROM jobs WHERE id = @id;

-- name: CountAll
-- want: jobs
SELECT COUNT(*) FROM jobs WHERE @principal_id <> '';

-- name: Or
-- want: jobs
SELECT id FROM jobs WHERE principal_id = @principal_id OR id = @id;

-- name: Not
-- want: jobs
SELECT id FROM jobs WHERE NOT (principal_id = @principal_id);

-- name: Different
-- want: jobs
SELECT id FROM jobs WHERE principal_id <> @principal_id AND ts > @ts;

-- name: OrAbove
-- want: jobs
SELECT id FROM jobs WHERE principal_id >= @principal_id;

-- name: UpToLiteral
-- want: jobs
SELECT id FROM jobs WHERE principal_id >= @principal_id AND principal_id <= 'zzz';

-- name: Downwards
-- want: jobs
SELECT id FROM jobs WHERE principal_id <= @principal_id ORDER BY principal_id DESC, ts DESC;

-- name: Literal
-- want: without a parameter @principal_id
SELECT id FROM jobs WHERE principal_id = 'root';

-- name: LiteralToo
-- want: jobs
SELECT id FROM jobs WHERE principal_id IN (@principal_id, 'root');

-- name: Itself
-- want: jobs
SELECT id FROM jobs WHERE principal_id = principal_id AND id = @principal_id;

-- name: OtherParameter
-- want: jobs
SELECT id FROM jobs WHERE principal_id = CAST(@whose AS TEXT) AND note <> @principal_id;

-- name: Pattern
-- want: jobs
SELECT id FROM jobs WHERE principal_id LIKE @principal_id;

-- name: Glob
-- want: jobs
SELECT id FROM jobs WHERE principal_id GLOB @principal_id || '*';

-- name: Computed
-- want: jobs
SELECT id FROM jobs WHERE principal_id = lower(@principal_id);

-- name: Coalesced
-- want: jobs
SELECT id FROM jobs WHERE principal_id = COALESCE(@principal_id, principal_id);

-- name: AnyoneIfNull
-- want: jobs
SELECT id FROM jobs WHERE (@principal_id IS NULL OR principal_id = @principal_id) AND id = @id;

-- name: Cased
-- want: jobs
SELECT id FROM jobs WHERE principal_id = CASE WHEN @admin = 1 THEN grp ELSE @principal_id END;

-- name: OtherCase
-- want: jobs
SELECT id FROM jobs WHERE principal_id = @principal_id COLLATE NOCASE;

-- name: JoinById
-- want: lines
SELECT l.body FROM jobs j JOIN lines l ON l.job_id = j.id WHERE j.principal_id = @principal_id;

-- name: JoinOther
-- want: jobs
SELECT b.id FROM jobs a JOIN jobs b ON b.principal_id = a.grp WHERE a.principal_id = @principal_id;

-- name: OuterJoin
-- want: jobs
SELECT j.id, l.seq FROM jobs j LEFT JOIN lines l ON l.principal_id = @principal_id AND l.job_id = j.id;

-- name: CrossJoin
-- want: lines
SELECT l.body FROM jobs j, lines l WHERE j.principal_id = @principal_id AND j.id = @id;

-- name: OwnersJoin
-- want: jobs
SELECT j.id FROM owners o JOIN jobs j ON j.principal_id = o.id WHERE o.id >= @principal_id;

-- name: SubselectElsewhere
-- want: lines
SELECT id FROM jobs WHERE principal_id = @principal_id AND id IN (SELECT l.job_id FROM lines l WHERE l.seq = 3);

-- name: PrincipalsOfSubselect
-- want: jobs
SELECT id FROM jobs WHERE principal_id IN (SELECT o.id FROM owners o WHERE o.visits > 3 OR o.id = @principal_id);

-- name: ScalarSubselect
-- want: jobs
SELECT j.id, (SELECT o.note FROM jobs o WHERE o.id = j.id AND o.principal_id <> j.principal_id) AS leak
FROM jobs j WHERE j.principal_id = @principal_id;

-- name: Exists
-- want: jobs
SELECT EXISTS (SELECT 1 FROM jobs j WHERE j.id = @id AND j.note <> @principal_id) AS taken;

-- name: WideCTE
-- want: jobs
WITH all_jobs AS (SELECT principal_id, id FROM jobs) SELECT id FROM all_jobs WHERE id = @id OR principal_id = @principal_id;

-- name: Recursive
-- want: lines
WITH RECURSIVE walk (id) AS (SELECT j.id FROM jobs j WHERE j.principal_id = @principal_id
  UNION SELECT l.job_id FROM lines l, walk w WHERE l.job_id > w.id) SELECT id FROM walk;

-- name: Union
-- want: lines
SELECT id FROM jobs WHERE principal_id = @principal_id UNION SELECT job_id FROM lines;

-- name: Except
-- want: jobs
SELECT job_id FROM lines WHERE principal_id = @principal_id EXCEPT SELECT id FROM jobs WHERE state = 1;

-- name: Distinct
-- want: jobs
SELECT DISTINCT principal_id FROM jobs WHERE @principal_id <> '';

-- name: Highest
-- want: jobs
SELECT MAX(principal_id) FROM jobs WHERE principal_id > @principal_id;

-- name: Windowed
-- want: jobs
SELECT id, COUNT(*) OVER () FROM jobs WHERE ts > @ts AND note <> @principal_id;

-- name: ByRowid
-- want: jobs
SELECT note FROM jobs WHERE rowid = @row AND principal_id = @principal_id;

-- name: RowidOfOther
-- want: jobs
SELECT j.note FROM lines l CROSS JOIN jobs j ON j.rowid = l.rowid WHERE l.principal_id = @principal_id;

-- name: RowidNext
-- want: jobs
SELECT b.note FROM jobs a CROSS JOIN jobs b ON b.rowid = a.rowid + 1 WHERE a.principal_id = @principal_id;

-- name: ThroughWideView
-- want: jobs
SELECT id FROM everything WHERE id = @principal_id;

-- name: ChangeAny
-- want: without a parameter @principal_id
UPDATE jobs SET state = 9 WHERE id = @id;

-- name: ChangeAll
-- want: jobs
UPDATE jobs SET state = 9 WHERE ts < @ts AND note <> @principal_id;

-- name: TakeOver
-- want: jobs
UPDATE jobs SET principal_id = @principal_id WHERE id = @id;

-- name: GiveAway
-- want: jobs
UPDATE jobs SET principal_id = grp WHERE principal_id = @principal_id AND id = @id;

-- name: ReturnOthers
-- want: jobs
UPDATE jobs SET note = @principal_id WHERE state = 1 RETURNING principal_id, id;

-- name: RemoveAll
-- want: jobs
DELETE FROM jobs;

-- name: RemoveAbove
-- want: jobs
DELETE FROM jobs WHERE principal_id > @principal_id RETURNING id;

-- name: RemoveByList
-- want: jobs
DELETE FROM jobs WHERE id IN (SELECT o.id FROM jobs o WHERE o.principal_id = @principal_id);

-- name: AddForRoot
-- want: without a parameter @principal_id
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES ('root', @id, @grp, @state, @ts);

-- name: AddForOther
-- want: jobs
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES (CAST(@whose AS TEXT), @principal_id, @grp, @state, @ts);

-- name: AddSecondRow
-- want: jobs
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES (@principal_id, 'a', 'g', 1, 1), ('root', 'a', 'g', 1, 1);

-- name: AddFromAll
-- want: jobs
INSERT INTO lines (principal_id, job_id, seq, body) SELECT @principal_id, j.id, 0, x'00' FROM jobs j;

-- name: AddToAll
-- want: lines
INSERT INTO lines (principal_id, job_id, seq, body) SELECT o.id, 'x', 0, x'00' FROM owners o WHERE o.id <> @principal_id;

-- name: AddAtRowid
-- want: jobs
INSERT OR REPLACE INTO jobs (rowid, principal_id, id, grp, state, ts) VALUES (@row, @principal_id, @id, 'g', 1, 1);

-- name: UpsertAway
-- want: jobs
INSERT INTO jobs (principal_id, id, grp, state, ts) VALUES (@principal_id, @id, @grp, @state, @ts)
ON CONFLICT (principal_id, id) DO UPDATE SET principal_id = excluded.grp;

-- name: MarkAll
-- want: marks
UPDATE marks SET value = @value WHERE name = @principal_id;

-- name: MarkOther
-- want: marks
INSERT INTO marks (principal_id, name, value) VALUES (upper(@principal_id), @name, @value);

-- name: MarkScan
-- want: marks
SELECT value FROM marks WHERE principal_id > @principal_id;

-- name: Unnoted
-- want: unscoped:
SELECT id FROM owners WHERE id = @id;

-- name: NotedWrongly
-- unscoped: it is not
-- want: reaches jobs
SELECT id FROM jobs WHERE principal_id = @principal_id;

-- name: SliceFirst
-- want: slice last
SELECT id FROM jobs WHERE id IN (sqlc.slice('ids')) AND principal_id = @principal_id;

-- name: SchemaTable
-- want: no table of the schema
SELECT sql FROM sqlite_schema WHERE name = @principal_id;

-- name: Pragma
-- want: opcode
SELECT name FROM pragma_table_info('jobs') WHERE name = @principal_id;

-- name: Json
-- want: opcode
SELECT value FROM json_each(@principal_id);
