-- A database whose encoding is SQL_ASCII: bytes that are valid in no encoding
-- at all, in rows and in names, beside LATIN1 and UTF-8 in the same table.
SET client_encoding = 'SQL_ASCII';
CREATE TABLE bytes (id int PRIMARY KEY, v text);
INSERT INTO bytes SELECT i, E'\xff\xfe' || i || E'\xc3' FROM generate_series(1, 10000) i;
INSERT INTO bytes VALUES (-1, E'\xe4\xf6'), (-2, E'\xc3\xa4'), (-3, E'\x80\\.\n\\.\n'),
	(-4, E'\xf0\x9f\x90'), (-5, E'\xc3\\N\t');
DO $$
BEGIN
	EXECUTE format('CREATE TABLE %I (%I int, v text)', E'na\xe4me', E'\xc3\xa4');
	EXECUTE format('INSERT INTO %I SELECT i, %L FROM generate_series(1, 3000) i',
		E'na\xe4me', E'\xfc\xc3');
	EXECUTE format('COMMENT ON TABLE %I IS %L', E'na\xe4me', E'\xff comment');
END $$;
SELECT lo_from_bytea(0, '\xff00');
