-- The database of everything, part 6: rows in the configuration tables that
-- extension_template.sql made.
--
-- What is restored differs from the source here, by design of stock pg_dump:
-- rows that miss a table's condition stay away, and a configuration table is
-- read without ONLY, so that the parent receives its child's rows while the
-- child, which is not a configuration table, stays empty.

INSERT INTO ext_all SELECT i, E'all\t' || i FROM generate_series(1, 5000) i;
INSERT INTO ext_some SELECT i, false, 'user' FROM generate_series(1, 5000) i;
INSERT INTO ext_some VALUES (-1, false, E'\\'), (-2, true, 'x'), (-3, NULL, 'x');
INSERT INTO ext_parent SELECT i, false FROM generate_series(1, 2000) i;
INSERT INTO ext_parent SELECT i, true FROM generate_series(1, 300) i;
INSERT INTO ext_child SELECT i, false FROM generate_series(1, 500) i;
SELECT setval('ext_seq', 55);
