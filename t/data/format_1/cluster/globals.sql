--
-- PostgreSQL database cluster dump
--

\restrict gsZcbPfcFM4uUsyNnC2EXvyJ9aAkdJk78Pog2N6A0W6ohjDtJ7jN3AMdsEHwxAb

SET default_transaction_read_only = off;

SET client_encoding = 'UTF8';
SET standard_conforming_strings = on;

--
-- Roles
--

CREATE ROLE postgres;
ALTER ROLE postgres WITH SUPERUSER INHERIT CREATEROLE CREATEDB LOGIN REPLICATION BYPASSRLS;

--
-- User Configurations
--








\unrestrict gsZcbPfcFM4uUsyNnC2EXvyJ9aAkdJk78Pog2N6A0W6ohjDtJ7jN3AMdsEHwxAb

--
-- PostgreSQL database cluster dump complete
--

