-- The database of everything, part 4: names that must be quoted, in every
-- place a name can stand.

-- every odd name as a schema, a table in it, a column, an index, a constraint
DO $do$
DECLARE
	odd text[] := ARRAY[
		'with space', 'UPPER lower', 'quo''te', 'dou"ble', 'back\slash',
		E'new\nline', E'tab\there', 'paren(theses)', 'br[a]ck{et}s', 'semi;colon',
		'select', 'user', 'table', '$1', '%s', '1digit', ' ', ' lead', 'trail ',
		'--comment', '/* c */', E'\\.', E'\u00e4\u20ac\U0001F418',
		repeat('x', 63), repeat(E'\u20ac', 21), 'a.b', '"a"."b"', '*', '?', '~',
		'-- \restrict', E'x\n\\connect postgres', 'copy', 'stdin'];
	other text;
BEGIN
	FOR i IN 1..cardinality(odd) LOOP
		other := odd[1 + (i * 7) % cardinality(odd)];
		EXECUTE format('CREATE SCHEMA %I', 'S' || i || left(odd[i], 50));
		EXECUTE format('CREATE TABLE %I.%I (%I int PRIMARY KEY, %I text, '
			|| 'CONSTRAINT %I CHECK (%I > 0))',
			'S' || i || left(odd[i], 50), other, odd[i], 'c' || left(other, 40), other,
			odd[i]);
		EXECUTE format('INSERT INTO %I.%I SELECT i, %L || i FROM generate_series(1, 800) i',
			'S' || i || left(odd[i], 50), other, odd[i]);
		EXECUTE format('COMMENT ON TABLE %I.%I IS %L',
			'S' || i || left(odd[i], 50), other, odd[i] || other);
		EXECUTE format('CREATE TABLE public.%I (%I int, v text)', odd[i], other);
		EXECUTE format('INSERT INTO public.%I SELECT i, %L FROM generate_series(1, 800) i',
			odd[i], other);
		EXECUTE format('CREATE INDEX %I ON public.%I (%I, v)', 'i' || left(odd[i], 40),
			odd[i], other);
		EXECUTE format('CREATE SEQUENCE public.%I', 's' || left(odd[i], 40));
	END LOOP;
END $do$;

-- the same name at several places: entries must not be mixed up
CREATE SCHEMA same1;
CREATE SCHEMA same2;
CREATE TABLE same1.same (id int, v text);
CREATE TABLE same2.same (v text, id int);
CREATE TABLE public.same (id int);
INSERT INTO same1.same SELECT i, 'one' FROM generate_series(1, 3000) i;
INSERT INTO same2.same SELECT 'two', i FROM generate_series(1, 4000) i;
INSERT INTO public.same SELECT generate_series(1, 5000);
