-- Compares what pg_pardump_read() and COPY make of the same rows in a format,
-- under the settings of the session, all on the server.  The extension must be
-- there.
-- psql's variable "file" names a file that the server may write.

CREATE SCHEMA reader_compare;

CREATE TYPE reader_compare.outcome AS (content bytea, error text);

-- What COPY writes; its error if it fails.
CREATE FUNCTION reader_compare.by_copy(rel regclass, columns name[], condition text, format text, file text)
RETURNS reader_compare.outcome LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('COPY (SELECT %s FROM ONLY %s%s) TO %L (FORMAT %s)',
		(SELECT string_agg(quote_ident(c), ', ')
		 FROM unnest(columns) c),
		rel, condition, file, format);
	RETURN ROW(pg_read_binary_file(file), NULL::text);
EXCEPTION WHEN OTHERS THEN
	RETURN ROW(NULL::bytea, SQLSTATE || ' ' || SQLERRM);
END $$;

-- What the reader returns, put together; its error if it fails.
CREATE FUNCTION reader_compare.by_reader(rel regclass, columns name[], first_block bigint, end_block bigint, format text)
RETURNS reader_compare.outcome LANGUAGE plpgsql AS $$
DECLARE
	namespace regnamespace := (SELECT extnamespace FROM pg_catalog.pg_extension
		WHERE extname = 'pg_pardump');
	content bytea;
BEGIN
	EXECUTE format(
		'SELECT string_agg(b, '''') FROM
			(SELECT %s.pg_pardump_read($1, $2, $3, $4, ''none'', $5) AS b) s', namespace)
		INTO content USING rel, columns, first_block, end_block, format;
	RETURN ROW(coalesce(content, ''), NULL::text);
EXCEPTION WHEN OTHERS THEN
	RETURN ROW(NULL::bytea, SQLSTATE || ' ' || SQLERRM);
END $$;

-- In ASCII, for any encoding of the client.
CREATE FUNCTION reader_compare.as_ascii(t text) RETURNS text LANGUAGE sql AS $$
	SELECT encode(convert_to(t, getdatabaseencoding()), 'escape')
$$;

-- Where two byte strings part, found by halves, and what is there.
CREATE FUNCTION reader_compare.first_difference(a bytea, b bytea)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	low int := 0;
	high int := least(length(a), length(b));
	middle int;
BEGIN
	WHILE low < high LOOP
		middle := (low + high + 1) / 2;
		IF substr(a, 1, middle) = substr(b, 1, middle) THEN
			low := middle;
		ELSE
			high := middle - 1;
		END IF;
	END LOOP;
	RETURN format('from byte %s of %s and %s: "%s" by COPY, "%s" by the reader',
		low, length(a), length(b),
		encode(substr(a, greatest(low - 39, 1), 80), 'escape'),
		encode(substr(b, greatest(low - 39, 1), 80), 'escape'));
END $$;

-- One range of blocks; a NULL end is the table's.
CREATE FUNCTION reader_compare.compare(rel regclass, first_block bigint, end_block bigint,
	format text, file text, OUT difference text, OUT bytes bigint, OUT errors int)
LANGUAGE plpgsql AS $$
DECLARE
	columns name[] := ARRAY(SELECT attname FROM pg_catalog.pg_attribute
		WHERE attrelid = rel AND attnum > 0 AND NOT attisdropped
			AND attgenerated <> 'v'
		ORDER BY attnum);
	condition text := format(' WHERE ctid >= ''(%s,0)''', first_block)
		|| CASE WHEN end_block IS NULL THEN ''
			ELSE format(' AND ctid < ''(%s,0)''', end_block) END;
	a reader_compare.outcome := reader_compare.by_copy(rel, columns, condition, format, file);
	b reader_compare.outcome := reader_compare.by_reader(rel, columns, first_block, end_block, format);
BEGIN
	bytes := coalesce(length(a.content), 0);
	errors := (a.error IS NOT NULL)::int;
	difference := CASE
		WHEN a.error IS DISTINCT FROM b.error THEN
			reader_compare.as_ascii(format('"%s" by COPY, "%s" by the reader',
				a.error, b.error))
		WHEN a.content <> b.content THEN
			reader_compare.first_difference(a.content, b.content)
		END;
END $$;

-- All heap tables (relkinds r) and filled materialized views (m) but those of
-- one session; "schemas" is a pattern of LIKE.  Whole, and in "ranges" random
-- ranges each.  Returns five numbers: relations, ranges,
-- bytes, ranges that raise an error (the same, or they are different), and
-- different ranges; then a text for each of the last.  All in ASCII.
CREATE FUNCTION reader_compare.summary(schemas text, ranges int, format text, file text)
RETURNS text LANGUAGE plpgsql AS $$
DECLARE
	rel regclass;
	blocks bigint;
	result record;
	first_block bigint;
	end_block bigint;
	relations int := 0;
	compared int := 0;
	bytes bigint := 0;
	errors int := 0;
	different int := 0;
	lines text := '';
BEGIN
	FOR rel, blocks IN
		SELECT c.oid, pg_relation_size(c.oid)
				/ current_setting('block_size')::int
		FROM pg_catalog.pg_class c
			JOIN pg_catalog.pg_namespace n ON n.oid = relnamespace
			JOIN pg_catalog.pg_am a ON a.oid = relam
		WHERE relkind IN ('r', 'm') AND relispopulated AND relpersistence <> 't'
			AND amhandler = 'heap_tableam_handler'::regproc
			AND nspname LIKE schemas
		ORDER BY nspname, relname
	LOOP
		relations := relations + 1;
		FOR i IN 0 .. ranges LOOP
			EXIT WHEN i > 0 AND blocks < 2;
			first_block := CASE WHEN i > 0 THEN floor(random() * blocks) ELSE 0 END;
			end_block := CASE WHEN i > 0
				THEN first_block + ceil(random() * least(blocks - first_block, 64)) END;
			result := reader_compare.compare(rel, first_block, end_block, format, file);
			compared := compared + 1;
			bytes := bytes + result.bytes;
			errors := errors + result.errors;
			IF result.difference IS NOT NULL THEN
				different := different + 1;
				lines := lines || format(E'\n%s, blocks %s to %s: %s',
					reader_compare.as_ascii(rel::text), first_block,
					coalesce(end_block::text, 'the end'), result.difference);
			END IF;
		END LOOP;
	END LOOP;
	RETURN concat_ws(' ', relations, compared, bytes, errors, different) || lines;
END $$;
