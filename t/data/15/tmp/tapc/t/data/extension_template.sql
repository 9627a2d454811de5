-- The template of the database of everything and of what it is restored into.
--
-- It holds an extension with configuration tables.  Their members are created
-- by CREATE EXTENSION, not by pg_dump, so the target must have them before the
-- restore.  No packaged extension has such tables and an ordinary user cannot
-- install one, so a packaged one (tcn) is given some; writing extconfig and
-- extcondition is all that pg_extension_config_dump() does.

CREATE EXTENSION tcn;
CREATE TABLE ext_all (id int, v text);
CREATE TABLE ext_some (id int, builtin bool, v text);
CREATE TABLE ext_parent (id int, builtin bool);
CREATE TABLE ext_child () INHERITS (ext_parent);
CREATE TABLE ext_none (id int);
CREATE SEQUENCE ext_seq;
ALTER EXTENSION tcn ADD TABLE ext_all;
ALTER EXTENSION tcn ADD TABLE ext_some;
ALTER EXTENSION tcn ADD TABLE ext_parent;
ALTER EXTENSION tcn ADD TABLE ext_child;
ALTER EXTENSION tcn ADD TABLE ext_none;
ALTER EXTENSION tcn ADD SEQUENCE ext_seq;
UPDATE pg_extension SET
	extconfig = ARRAY['ext_all'::regclass, 'ext_some'::regclass,
		'ext_parent'::regclass, 'ext_seq'::regclass]::oid[],
	extcondition = ARRAY['', E'WHERE NOT builtin AND v <> ''\\''',
		'WHERE NOT builtin', '']
	WHERE extname = 'tcn';
-- what the extension itself brought; a dump must not bring it again
INSERT INTO ext_some SELECT i, true, 'builtin' FROM generate_series(1, 100) i;
INSERT INTO ext_none SELECT generate_series(1, 100);
