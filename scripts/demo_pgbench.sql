--
-- demo_pgbench.sql: fill pgbench's tables, in the place of its own step "g".
--
-- That leaves every filler blank and every balance 0, which compresses to
-- nothing; here the fillers are like what real columns hold.  Variable
-- "scale": pgbench's.
--
\set ON_ERROR_STOP on

INSERT INTO pgbench_branches (bid, bbalance, filler)
SELECT n, 0, md5(n::text) FROM generate_series(1, :scale) n;
INSERT INTO pgbench_tellers (tid, bid, tbalance, filler)
SELECT n, (n - 1) / 10 + 1, 0, md5(n::text) FROM generate_series(1, :scale * 10) n;
INSERT INTO pgbench_accounts (aid, bid, abalance, filler)
SELECT n, (n - 1) / 100000 + 1, hashint4(n) % 100000, md5(n::text) || ' ' || left(md5((n / 10)::text), 20)
FROM generate_series(1, :scale * 100000) n;
