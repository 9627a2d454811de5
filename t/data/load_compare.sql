-- What two tables have stored, tuple by tuple: to tell whether COPY FROM by
-- the extension puts the same bytes in the same places as the server's.

CREATE EXTENSION IF NOT EXISTS pageinspect;
CREATE SCHEMA load_compare;

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

-- Each tuple: place, layout (of the infomasks only those bits), and bytes.
CREATE FUNCTION load_compare.tuples(rel regclass)
RETURNS TABLE (block bigint, lp int, off int, layout text, bytes bytea)
LANGUAGE plpgsql AS $$
BEGIN
	RETURN QUERY
	SELECT b, t.lp::int, t.lp_off::int,
		format('%s %s %s %s %s', t.t_infomask & 15, t.t_infomask2 & 2047, t.t_hoff, t.t_bits,
			CASE WHEN t.t_infomask & 4 = 0 THEN t.lp_len END),
		CASE WHEN t.t_infomask & 4 = 0 THEN t.t_data
		ELSE (SELECT string_agg(load_compare.stored_value(v), '|')
			FROM unnest(tuple_data_split(rel, t.t_data, t.t_infomask, t.t_infomask2, t.t_bits)) v) END
	FROM generate_series(0, pg_relation_size(rel) / current_setting('block_size')::int - 1) b,
		heap_page_items(get_raw_page(rel::text, b)) t;
END $$;

-- How many tuples there are, and how many of them differ.
CREATE FUNCTION load_compare.difference(a regclass, b regclass, OUT n bigint, OUT different bigint)
LANGUAGE sql AS $$
	SELECT count(*), count(*) FILTER (WHERE x IS DISTINCT FROM y)
	FROM load_compare.tuples(a) x FULL JOIN load_compare.tuples(b) y USING (block, lp)
$$;

-- Two empty tables like another one, and the columns that COPY reads.
CREATE FUNCTION load_compare.make_pair(source regclass, core text, ours text) RETURNS text
LANGUAGE plpgsql AS $$
BEGIN
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)', core, source);
	EXECUTE format('CREATE TABLE %s (LIKE %s INCLUDING DEFAULTS INCLUDING CONSTRAINTS INCLUDING STORAGE INCLUDING COMPRESSION)', ours, source);
	RETURN (SELECT string_agg(quote_ident(attname), ', ' ORDER BY attnum) FROM pg_attribute
		WHERE attrelid = source AND attnum > 0 AND NOT attisdropped AND attgenerated = '');
END $$;
