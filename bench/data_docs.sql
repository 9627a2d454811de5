--
-- data_docs.sql: documents of 1 to 60 kB, all but the shortest of them
-- compressed and out of line: a small heap with much behind it.  Variable
-- "bytes": the size of the COPY text, about.
--
-- To a codec they are much like English documentation: gzip makes them a
-- third to a quarter of their size at about the same speed.
--
\set ON_ERROR_STOP on

SELECT setseed(0.5);

-- Words of one to four syllables, phrases of two to five words, sentences of
-- three to five phrases, of words and phrases the first the most frequent; more
-- sentences than a codec's window holds.  Each subquery uses the row around it,
-- else it would be done once for all.
CREATE TEMPORARY TABLE word AS
SELECT n, (SELECT string_agg((string_to_array('an ar ber ca con cur de di du el en er est fa for ga gen ha hi in is ja '
		'ka la ler li lo ma ment mi mo na ne nor o of on or pa per ple po pre qua ra re ri sa sch se si sta su ta te '
		'ter th ti tion to tra u un ur va ver vi wa we wi y za', ' '))[1 + floor(random() * 72 + i * 0)::int], '')
	FROM generate_series(0, n % 4) i) AS word
FROM generate_series(0, 7999) n;
CREATE INDEX ON word (n);
CREATE TEMPORARY TABLE phrase AS
SELECT n, (SELECT string_agg(word, ' ')
	FROM (SELECT floor(power(random(), 3) * 8000)::int AS n FROM generate_series(0, 1 + n % 4)) p
	JOIN word USING (n)) AS phrase
FROM generate_series(0, 4999) n;
CREATE INDEX ON phrase (n);
CREATE TEMPORARY TABLE sentence AS
SELECT n, '<p class="body">' || (SELECT string_agg(phrase, ' ')
	FROM (SELECT floor(power(random(), 3) * 5000)::int AS n FROM generate_series(0, 2 + n % 3)) p
	JOIN phrase USING (n)) || E'.</p>\n' AS sentence
FROM generate_series(0, 99999) n;
CREATE INDEX ON sentence (n);
ANALYZE word, phrase, sentence;

CREATE TABLE docs (
	id int NOT NULL,
	title text NOT NULL,
	body text NOT NULL
);
-- Sentence by sentence through the index: a hash join would need the whole
-- text in memory.
SET enable_hashjoin = off;
SET enable_mergejoin = off;
INSERT INTO docs
SELECT d, 'Document ' || d,
	(SELECT string_agg(sentence, '')
		FROM (SELECT floor(random() * 100000)::int AS n FROM generate_series(0, 9 + d * 7919 % 600)) p
		JOIN sentence USING (n))
FROM generate_series(1, (:bytes / 30000)::int) d;
