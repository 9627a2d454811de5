-- Two tables between which concurrent sessions move amounts, and a journal of
-- what was moved.  In any one snapshot, and in no mix of two:
--   sum(left_side) + sum(journal) and sum(right_side) - sum(journal) are
--   20000 * 1000 each, and both sides have 20000 rows.
CREATE TABLE left_side (id int PRIMARY KEY, balance int NOT NULL, filler text);
CREATE TABLE right_side (id int PRIMARY KEY, balance int NOT NULL, filler text);
CREATE TABLE journal (id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
	amount int NOT NULL);
INSERT INTO left_side SELECT i, 1000, repeat('l', 100) FROM generate_series(1, 20000) i;
INSERT INTO right_side SELECT i, 1000, repeat('r', 100) FROM generate_series(1, 20000) i;
-- an update of an indexed column never stays in its page's chain, so that rows
-- wander to other pages, and chunks
CREATE INDEX ON left_side (balance);
CREATE INDEX ON right_side (balance);
CREATE TABLE bystander (id int);
INSERT INTO bystander VALUES (1);
