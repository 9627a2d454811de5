-- What the database of everything needs in its cluster, once: roles, and two
-- tablespaces below the directories :dir1 and :dir2.
CREATE ROLE pardump_owner;
CREATE ROLE pardump_reader;
CREATE TABLESPACE pardump_space LOCATION :'dir1';
CREATE TABLESPACE "pardump ""space"" 2" LOCATION :'dir2';
