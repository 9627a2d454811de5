-- The database of everything, part 5: objects without rows of their own, which
-- the archive must carry as stock pg_dump wrote them.

SET client_min_messages = error;
CREATE SCHEMA objects;
SET search_path = objects, public;

-- functions with quoting that invites mistakes
CREATE FUNCTION "odd $$ name"("odd arg" text DEFAULT $q$it's \ "$$"$q$,
	VARIADIC rest int[] DEFAULT '{}') RETURNS text
	LANGUAGE plpgsql STABLE SECURITY DEFINER COST 7 SET search_path = 'a b', "c""d"
	AS $body$BEGIN RETURN $a$ $$ \. ' " $a$ || "odd arg"; /*
\.
*/ END$body$;
CREATE FUNCTION overloaded(int) RETURNS int LANGUAGE sql
	BEGIN ATOMIC SELECT $1 + 1; END;
CREATE FUNCTION overloaded(text, OUT a int, OUT b text) RETURNS SETOF record
	LANGUAGE sql ROWS 3 AS $$SELECT 1, $1$$;
CREATE FUNCTION to_table(n int) RETURNS TABLE (a int, "b c" text)
	LANGUAGE sql LEAKPROOF PARALLEL SAFE AS $$SELECT $1, 'x'$$;
CREATE PROCEDURE a_procedure(INOUT x int) LANGUAGE plpgsql AS 'BEGIN x := 1; END';
CREATE FUNCTION on_change() RETURNS trigger LANGUAGE plpgsql
	AS $$BEGIN RETURN COALESCE(NEW, OLD); END$$;
CREATE FUNCTION on_ddl() RETURNS event_trigger LANGUAGE plpgsql
	AS $$BEGIN NULL; END$$;
CREATE AGGREGATE total(int) (SFUNC = int4pl, STYPE = int, INITCOND = '0',
	COMBINEFUNC = int4pl, PARALLEL = SAFE);
CREATE AGGREGATE "Odd Rank"(VARIADIC "any" ORDER BY VARIADIC "any") (SFUNC = ordered_set_transition_multi,
	STYPE = internal, FINALFUNC = rank_final, FINALFUNC_EXTRA, HYPOTHETICAL);
CREATE FUNCTION "Odd Add"(int, text) RETURNS int LANGUAGE sql IMMUTABLE
	AS 'SELECT $1 + length($2)';
CREATE OPERATOR @+@ (LEFTARG = int, RIGHTARG = text, FUNCTION = "Odd Add");
CREATE OPERATOR FAMILY a_family USING btree;
CREATE OPERATOR CLASS a_class FOR TYPE int4 USING btree FAMILY a_family AS
	OPERATOR 1 <, OPERATOR 2 <=, OPERATOR 3 =, OPERATOR 4 >=, OPERATOR 5 >,
	FUNCTION 1 btint4cmp(int4, int4);
CREATE TYPE castable AS (n int);
CREATE FUNCTION to_castable(int) RETURNS castable LANGUAGE sql IMMUTABLE
	AS 'SELECT ROW($1)::objects.castable';
CREATE CAST (int AS castable) WITH FUNCTION to_castable(int) AS ASSIGNMENT;
CREATE CAST (castable AS text) WITH INOUT;
CREATE COLLATION "Ordinary C" FROM "C";
DO $$
BEGIN
	CREATE COLLATION objects.ignoring_case (PROVIDER = icu,
		LOCALE = 'und-u-ks-level2', DETERMINISTIC = false);
	CREATE TABLE objects.collated (v text COLLATE objects.ignoring_case UNIQUE);
	INSERT INTO objects.collated SELECT 'Value ' || i FROM generate_series(1, 500) i;
EXCEPTION WHEN feature_not_supported THEN
	RAISE NOTICE 'server without ICU';
END $$;
CREATE CONVERSION a_conversion FOR 'LATIN1' TO 'UTF8' FROM iso8859_1_to_utf8;
CREATE TEXT SEARCH DICTIONARY a_dictionary (TEMPLATE = simple, ACCEPT = false);
CREATE TEXT SEARCH CONFIGURATION a_configuration (COPY = english);
ALTER TEXT SEARCH CONFIGURATION a_configuration ALTER MAPPING FOR asciiword
	WITH a_dictionary, simple;

-- triggers in every state, rules, an event trigger
CREATE TABLE watched (id int PRIMARY KEY, v text);
INSERT INTO watched SELECT i, 'w' FROM generate_series(1, 1500) i;
CREATE TRIGGER on_row BEFORE UPDATE OF v ON watched FOR EACH ROW
	WHEN (OLD.v IS DISTINCT FROM E'it''s \\') EXECUTE FUNCTION on_change('a\b', '''', '');
CREATE TRIGGER disabled AFTER DELETE ON watched FOR EACH STATEMENT
	EXECUTE FUNCTION on_change();
CREATE TRIGGER on_replica BEFORE INSERT ON watched FOR EACH ROW
	EXECUTE FUNCTION on_change();
CREATE TRIGGER always AFTER INSERT ON watched REFERENCING NEW TABLE AS added
	FOR EACH STATEMENT EXECUTE FUNCTION on_change();
CREATE CONSTRAINT TRIGGER late AFTER INSERT ON watched DEFERRABLE
	INITIALLY DEFERRED FOR EACH ROW EXECUTE FUNCTION on_change();
ALTER TABLE watched DISABLE TRIGGER disabled;
ALTER TABLE watched ENABLE REPLICA TRIGGER on_replica;
ALTER TABLE watched ENABLE ALWAYS TRIGGER always;
CREATE RULE "a rule" AS ON DELETE TO watched WHERE OLD.id < 0 DO INSTEAD NOTHING;
CREATE RULE unused AS ON UPDATE TO watched DO ALSO NOTIFY "Odd Channel";
ALTER TABLE watched DISABLE RULE unused;
CREATE EVENT TRIGGER pardump_ddl ON ddl_command_end
	WHEN TAG IN ('CREATE OPERATOR') EXECUTE FUNCTION on_ddl();
ALTER EVENT TRIGGER pardump_ddl ENABLE ALWAYS;

-- foreign data without data
CREATE FOREIGN DATA WRAPPER nothing OPTIONS ("odd opt" E'it''s \\');
CREATE SERVER "no where" TYPE 't' VERSION '1''2' FOREIGN DATA WRAPPER nothing
	OPTIONS (host 'h"h');
CREATE USER MAPPING FOR pardump_owner SERVER "no where"
	OPTIONS (user 'u', password E'p''\\');
CREATE FOREIGN TABLE far_away (id int OPTIONS (x 'y') NOT NULL, v text)
	SERVER "no where" OPTIONS ("table" 't t');

-- privileges and owners
CREATE TABLE granted (a int, b text, "c c" int);
INSERT INTO granted SELECT i, 'g', i FROM generate_series(1, 1000) i;
ALTER TABLE granted OWNER TO pardump_owner;
GRANT SELECT ON granted TO pardump_reader WITH GRANT OPTION;
GRANT UPDATE (a, "c c"), SELECT (b) ON granted TO pardump_reader;
GRANT INSERT ON granted TO PUBLIC;
REVOKE DELETE ON granted FROM pardump_owner;
GRANT USAGE, CREATE ON SCHEMA objects TO pardump_owner, pardump_reader;
GRANT EXECUTE ON FUNCTION overloaded(int) TO pardump_reader;
REVOKE ALL ON FUNCTION to_table(int) FROM PUBLIC;
GRANT USAGE ON FOREIGN SERVER "no where" TO pardump_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE pardump_owner IN SCHEMA objects
	GRANT SELECT ON TABLES TO pardump_reader;
ALTER DEFAULT PRIVILEGES FOR ROLE pardump_owner
	REVOKE EXECUTE ON FUNCTIONS FROM PUBLIC;

-- publications and a subscription that never connects
CREATE PUBLICATION everything_all FOR ALL TABLES WITH (publish = 'insert, delete');
CREATE PUBLICATION "some ""tables""" FOR TABLE watched (id, v)
	WHERE (id > 5 AND v <> E'\\'), ONLY granted;
CREATE PUBLICATION a_schema FOR TABLES IN SCHEMA objects
	WITH (publish_via_partition_root);
CREATE SUBSCRIPTION never CONNECTION 'host=nowhere dbname=''o\''dd'''
	PUBLICATION p1, "P 2" WITH (connect = false, slot_name = 'a_slot', binary);

-- statistics objects and comments
CREATE STATISTICS "odd stats" ON a, ("c c" + 1), lower(b) FROM granted;
ALTER STATISTICS "odd stats" SET STATISTICS 50;
COMMENT ON COLUMN granted."c c" IS E'a\nb\\c''d"e';
COMMENT ON SCHEMA objects IS E'-- not a comment\n\\connect postgres\n;';
COMMENT ON FUNCTION overloaded(int) IS '$$';
COMMENT ON TRIGGER on_row ON watched IS 'trigger';
COMMENT ON RULE "a rule" ON watched IS 'rule';
COMMENT ON STATISTICS "odd stats" IS 'statistics';
COMMENT ON PUBLICATION a_schema IS 'publication';
COMMENT ON SUBSCRIPTION never IS 'subscription';
COMMENT ON EVENT TRIGGER pardump_ddl IS 'event trigger';
COMMENT ON INDEX watched_pkey IS 'index';
COMMENT ON CONSTRAINT watched_pkey ON watched IS 'constraint';
COMMENT ON TYPE castable IS E'type \U0001F418';
RESET search_path;
