-- What two tables have stored, tuple by tuple: to tell whether COPY FROM by
-- the extension puts the same bytes in the same places as the server's.

CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE SCHEMA load_compare;
CREATE SCHEMA core;
CREATE SCHEMA ours;

-- A value as stored; a pointer's two OIDs are replaced by what they lead to.
CREATE FUNCTION load_compare.stored_value(value bytea) RETURNS bytea
LANGUAGE plpgsql STRICT AS $$
DECLARE
	chunks bytea;
	id oid;
	toast oid;
BEGIN
	-- 1 and 18: an external pointer to disk (varatt.h: VARTAG_ONDISK)
	IF length(value) <> 18 OR substr(value, 1, 2) <> '\x0112' THEN
		RETURN value;
	END IF;
	id := (SELECT sum(get_byte(value, 10 + i)::bigint << (8 * i)) FROM generate_series(0, 3) i)::bigint::oid;
	toast := (SELECT sum(get_byte(value, 14 + i)::bigint << (8 * i)) FROM generate_series(0, 3) i)::bigint::oid;
	EXECUTE format('SELECT string_agg(chunk_data, '''' ORDER BY chunk_seq) FROM %s WHERE chunk_id = $1',
		toast::regclass) INTO chunks USING id;
	RETURN substr(value, 1, 10) || chunks;
END $$;

-- Each tuple: place, layout (of the infomasks only those bits), and bytes; the
-- length says nothing where there is a pointer.
CREATE FUNCTION load_compare.tuples(rel regclass)
RETURNS TABLE (block bigint, lp smallint, off smallint, mask int, natts int, hoff smallint, bits text, len int, bytes bytea)
LANGUAGE sql AS $$
	SELECT b, lp, lp_off, t_infomask & 15, t_infomask2 & 2047, t_hoff, t_bits,
		CASE WHEN t_infomask & 4 = 0 THEN lp_len END,
		CASE WHEN t_infomask & 4 = 0 THEN t_data
		ELSE (SELECT string_agg(load_compare.stored_value(v), '|')
			FROM unnest(tuple_data_split(rel, t_data, t_infomask, t_infomask2, t_bits)) v) END
	FROM generate_series(0, pg_relation_size(rel) / current_setting('block_size')::int - 1) b,
		heap_page_items(get_raw_page(rel::text, b)) t
$$;

-- How many tuples there are, and how many of them differ.
CREATE FUNCTION load_compare.difference(a regclass, b regclass, OUT n bigint, OUT different bigint)
LANGUAGE sql SET jit = off AS $$
	SELECT count(*), count(*) FILTER (WHERE x IS DISTINCT FROM y)
	FROM load_compare.tuples(a) x FULL JOIN load_compare.tuples(b) y USING (block, lp)
$$;

-- Two empty tables of one name like another table, and the columns that COPY
-- reads.
CREATE FUNCTION load_compare.make_pair(source regclass) RETURNS text
LANGUAGE plpgsql AS $$
DECLARE
	schema text;
	what text := 'INCLUDING DEFAULTS INCLUDING STORAGE INCLUDING COMPRESSION';
BEGIN
	FOREACH schema IN ARRAY ARRAY['core', 'ours'] LOOP
		EXECUTE format('DROP TABLE IF EXISTS %I.loaded', schema);
		BEGIN
			EXECUTE format('CREATE TABLE %I.loaded (LIKE %s %s INCLUDING CONSTRAINTS)', schema, source, what);
		EXCEPTION WHEN feature_not_supported THEN	-- one of the whole row
			EXECUTE format('CREATE TABLE %I.loaded (LIKE %s %s)', schema, source, what);
		END;
	END LOOP;
	RETURN (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = source AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
END $$;

-- What a table's visible rows have stored, but not where.
CREATE FUNCTION load_compare.rows(rel regclass)
RETURNS TABLE (mask int, natts int, hoff smallint, bits text, len int, bytes text)
LANGUAGE plpgsql SET jit = off AS $$
BEGIN
	RETURN QUERY EXECUTE format('SELECT t.mask, t.natts, t.hoff, t.bits, t.len, md5(t.bytes)
		FROM load_compare.tuples(%L) t JOIN ONLY %s r ON r.ctid = format(''(%%s,%%s)'', t.block, t.lp)::tid', rel, rel);
END $$;

-- How many rows there are in both tables that are not in the other.
CREATE FUNCTION load_compare.rows_different(a regclass, b regclass) RETURNS bigint
LANGUAGE sql SET jit = off AS $$
	SELECT coalesce(sum(abs(n)), 0) FROM (
		SELECT sum(n) AS n FROM (
			SELECT 1 AS n, * FROM load_compare.rows(a) UNION ALL SELECT -1, * FROM load_compare.rows(b)) x
		GROUP BY mask, natts, hoff, bits, len, bytes) y
$$;
