-- Reading the cluster's files for a base backup: what comes of a range, what is
-- refused, and to whom.
CREATE EXTENSION pg_pardump;
\t on

-- One range, as a row of what was read and what is told of it.
CREATE FUNCTION read_file(path text, start_at bigint, length bigint, header bytea = NULL,
  padding int = NULL, required boolean = NULL, compression text = 'none')
RETURNS TABLE (data bytea, bytes bigint[], crcs text[], failures bigint[]) LANGUAGE plpgsql AS $$
BEGIN
  SELECT coalesce(string_agg(b, ''), '') INTO data FROM (SELECT pardump.pg_pardump_read_files(ARRAY[path::bytea],
    ARRAY[start_at], ARRAY[length], ARRAY[header], ARRAY[padding], ARRAY[required], '{NULL}', '0/0', compression) b) s;
  SELECT l.bytes, ARRAY(SELECT to_hex(c) FROM unnest(l.crcs) c), l.failures INTO bytes, crcs, failures
    FROM pardump.pg_pardump_last_files() l;
  RETURN NEXT;
END $$;

-- How a call fails.
CREATE FUNCTION try_file(path bytea[], start_at bigint[] = '{0}', length bigint[] = '{1}', header bytea[] = '{NULL}',
  padding int[] = '{NULL}', required boolean[] = '{NULL}', first_block bigint[] = '{NULL}', start_lsn pg_lsn = '0/0',
  compression text = 'none')
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
  hint text;
BEGIN
  PERFORM pardump.pg_pardump_read_files(path, start_at, length, header, padding, required, first_block, start_lsn, compression);
  RETURN 'read';
EXCEPTION WHEN OTHERS THEN
  GET STACKED DIAGNOSTICS hint = PG_EXCEPTION_HINT;
  RETURN rtrim(SQLSTATE || ': ' || SQLERRM || ' ' || hint);
END $$;

-- The bytes of the file, wherever they are asked for, and zeros behind its end.
SELECT data = pg_read_binary_file('global/pg_filenode.map', 0, 500), bytes FROM read_file('global/pg_filenode.map', 0, 500);
SELECT data = pg_read_binary_file('global/pg_filenode.map', 100, 400), bytes FROM read_file('global/pg_filenode.map', 100, 400);
SELECT data = pg_read_binary_file('PG_VERSION') || '\x0000', bytes FROM read_file('PG_VERSION', 0, 5);
SELECT * FROM read_file('PG_VERSION', 3, 32);
SELECT data = repeat(E'\\000', 300000)::bytea, bytes, crcs FROM read_file('PG_VERSION', 1000000000000, 300000);
SELECT * FROM read_file('PG_VERSION', 0, 0);
-- what a tar has around it
SELECT data = '\x414243' || pg_read_binary_file('PG_VERSION', 0, 2) || '\x00000000', bytes, crcs = '{}'
  FROM read_file('PG_VERSION', 0, 2, 'ABC', 4);
SELECT * FROM read_file(NULL, 0, 5, 'ABC', 2);
-- a file that is not there, or not any more
SELECT * FROM read_file('none', 0, 4, 'ABC', 2);
SELECT * FROM read_file('none', 0, 4, 'ABC', 2, true);
-- several of them
SELECT string_agg(b, '') = 'abc' || pg_read_binary_file('PG_VERSION', 0, 2) || '\x0000' || pg_read_binary_file('global/pg_filenode.map', 0, 500)
  FROM (SELECT pardump.pg_pardump_read_files('{NULL,PG_VERSION,none,global/pg_filenode.map}', '{0,0,0,0}', '{0,2,9,500}',
    '{abc,NULL,d,NULL}', '{NULL,2,3,NULL}', '{f,t,f,NULL}', '{NULL,NULL,NULL,NULL}', '0/0', 'none') b) s;
SELECT bytes FROM pardump.pg_pardump_last_files();
SELECT pardump.pg_pardump_read_files('{}', '{}', '{}', '{}', '{}', '{}', '{}', '0/0', 'none');
SELECT * FROM pardump.pg_pardump_last_files();
-- more than a row
SELECT string_agg(b, '') = repeat('x', 300000)::bytea, count(*) > 1 FROM (SELECT pardump.pg_pardump_read_files('{NULL}',
    '{0}', '{0}', ARRAY[repeat('x', 300000)::bytea], '{0}', '{f}', '{NULL}', '0/0', 'none') b) s;

-- A frame for each call, with any method and data.
SELECT compression, substr(data, 1, 4), length(data) < 8192, bytes
  FROM unnest('{zstd,zstd:19,lz4,lz4:9}'::text[]) compression, read_file('global/pg_control', 0, 8192, NULL, NULL, NULL, compression);
SELECT compression, substr(data, 1, 4), length(data) > 4, bytes
  FROM unnest('{zstd,lz4}'::text[]) compression, read_file('none', 0, 8192, NULL, NULL, NULL, compression);

-- Arguments.
SELECT try_file('{PG_VERSION,PG_VERSION}');
SELECT try_file('{PG_VERSION}', padding => '{1,2}');
SELECT try_file(NULL);
SELECT try_file('{PG_VERSION}', required => NULL);
SELECT try_file('{PG_VERSION}', start_lsn => NULL);
SELECT try_file('{PG_VERSION}', compression => NULL);
SELECT try_file('{PG_VERSION}', '{-1}');
SELECT try_file('{PG_VERSION}', length => '{-1}');
SELECT try_file('{PG_VERSION}', padding => '{-1}');
SELECT try_file('{PG_VERSION}', padding => '{100000}');
SELECT try_file('{PG_VERSION}', first_block => '{-1}');
SELECT try_file('{PG_VERSION}', '{512}', first_block => '{0}');
SELECT try_file('{PG_VERSION}', compression => 'gzip');
SELECT try_file('{PG_VERSION}', compression => 'zstd:100');

-- Nothing but files in the data directory, not even for superusers.
SELECT path, try_file(ARRAY[path::bytea]) FROM unnest('{/etc/passwd,../x,base/../../x,base/..,.,"",base,PG_VERSION/x,./PG_VERSION,base/../PG_VERSION}'::text[]) path;
SELECT try_file(ARRAY[convert_to(current_setting('data_directory') || '/PG_VERSION', 'UTF8')]);
SELECT try_file(ARRAY['\x505f00'::bytea]);
SELECT bytes IS NULL AND crcs IS NULL AND failures IS NULL FROM pardump.pg_pardump_last_files();

-- Who may.
CREATE ROLE regress_pardump_files;
GRANT EXECUTE ON FUNCTION try_file TO regress_pardump_files;
SET ROLE regress_pardump_files;
SELECT try_file('{PG_VERSION}');
RESET ROLE;
GRANT EXECUTE ON FUNCTION pardump.pg_pardump_read_files TO regress_pardump_files;
SET ROLE regress_pardump_files;
SELECT try_file('{PG_VERSION}');
SELECT try_file('{/etc/passwd}');
RESET ROLE;
GRANT pg_read_server_files TO regress_pardump_files;
SET ROLE regress_pardump_files;
SELECT try_file('{/etc/passwd}');
RESET ROLE;

-- Read only, from a cursor, and not to the end.
BEGIN READ ONLY;
DECLARE c CURSOR FOR SELECT length(pardump.pg_pardump_read_files('{global/pg_control,global/pg_control}', '{0,0}', '{8192,8192}',
    '{NULL,NULL}', '{0,0}', '{f,f}', '{NULL,NULL}', '0/0', 'none'));
FETCH 1 FROM c;
COMMIT;
SELECT length(pardump.pg_pardump_read_files('{global/pg_control}', '{0}', '{10000000}', '{NULL}', '{0}', '{f}', '{NULL}', '0/0', 'none')) LIMIT 1;
SELECT * FROM pardump.pg_pardump_last_files();

-- The type of a file, which is not for everybody either.
SELECT path, coalesce(pardump.pg_pardump_file_type(path)::text, 'none') FROM unnest('{PG_VERSION,base,./base/1,none}'::text[]) path;
SELECT pardump.pg_pardump_file_type('/etc/passwd');
SELECT pardump.pg_pardump_file_type('base/../../x');
SELECT pardump.pg_pardump_file_type('');
SET ROLE regress_pardump_files;
SELECT pardump.pg_pardump_file_type('PG_VERSION');
RESET ROLE;
GRANT EXECUTE ON FUNCTION pardump.pg_pardump_file_type TO regress_pardump_files;
SET ROLE regress_pardump_files;
SELECT pardump.pg_pardump_file_type('PG_VERSION');
RESET ROLE;

SELECT obj_description(oid, 'pg_proc') FROM pg_proc WHERE proname IN ('pg_pardump_read_files', 'pg_pardump_last_files', 'pg_pardump_file_type') ORDER BY 1;
\t off
DROP FUNCTION read_file, try_file;
DROP EXTENSION pg_pardump;
DROP ROLE regress_pardump_files;
