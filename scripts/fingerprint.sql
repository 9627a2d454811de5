--
-- fingerprint.sql: one line for everything in a database that holds data, the
-- same in two databases when and only when they hold the same.
--
-- For a table or materialized view: its name, rows, and a checksum that does
-- not depend on the order of the rows; for a sequence its state; for all
-- large objects together their number and a checksum over contents, owner,
-- privileges and comments.  Run with psql -XAt.
--
\set ON_ERROR_STOP on
SET search_path = '';
SET extra_float_digits = 3;

SELECT CASE relkind
	WHEN 'S' THEN pg_catalog.format(
		'SELECT %L, last_value, is_called FROM %s',
		'sequence ' || c.oid::pg_catalog.regclass, c.oid::pg_catalog.regclass)
	ELSE pg_catalog.format(
		'SELECT %L, count(*), coalesce(sum(hashtextextended(t::text, 0)::numeric), 0) FROM ONLY %s t',
		'table ' || c.oid::pg_catalog.regclass, c.oid::pg_catalog.regclass)
	END
FROM pg_catalog.pg_class c
	JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE relkind IN ('r', 'm', 'S')
	AND relpersistence <> 't'
	AND nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY nspname, relname
\gexec

SELECT 'large objects', count(*), coalesce(sum(hashtextextended(pg_catalog.concat_ws(' ', m.oid, lomowner,
	lomacl, obj_description(m.oid, 'pg_largeobject'), md5(lo_get(m.oid))), 0)::numeric), 0)
FROM pg_catalog.pg_largeobject_metadata m;
