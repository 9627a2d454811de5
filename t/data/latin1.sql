-- A database whose encoding is LATIN1, with content and names beyond ASCII.
SET client_encoding = 'UTF8';
CREATE TABLE umlauts (id int PRIMARY KEY, v text, c "char", t text);
INSERT INTO umlauts
	SELECT i, chr(160 + i % 96) || i || chr(255), chr(228)::"char", E'\\' || chr(160)
	FROM generate_series(1, 20000) i;
CREATE TABLE "größe ""ÿ""" ("spalte ä" int, "b\" text DEFAULT 'ß');
INSERT INTO "größe ""ÿ""" SELECT i, 'ä' || chr(i % 255 + 1)
	FROM generate_series(1, 5000) i;
CREATE TYPE "wörter" AS ENUM ('ä', 'ö', 'ü');
CREATE TABLE mit_enum (w "wörter");
INSERT INTO mit_enum SELECT (enum_range(NULL::"wörter"))[1 + i % 3]
	FROM generate_series(1, 3000) i;
COMMENT ON TABLE umlauts IS 'Kommentar: äöüß';
SELECT lo_from_bytea(0, '\xe4f6fc');
