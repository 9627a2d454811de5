/*
 * test_backup_filter.c
 *		What of a data directory is in a base backup, by names.
 */
#include "base/fe_compat.h"

#include "basebackup/backup_list.h"
#include "unit_test.h"

static void
check_entries(void)
{
	static const struct
	{
		const char *directory;
		const char *name;
		BackupFilter filter;
	}			entries[] = {
		{"", "PG_VERSION", FILTER_TAKE},
		{"", "postmaster.pid", FILTER_LEAVE_OUT},
		{"", "postmaster.pid.old", FILTER_TAKE},
		{"", "pg_internal.init.7", FILTER_LEAVE_OUT},
		{"base/5", "pgsql_tmp", FILTER_LEAVE_OUT},
		{"", "backup_manifest.tmp", FILTER_LEAVE_OUT},
		{"more", "backup_manifest.tmp", FILTER_TAKE},
		{"", "pg_wal", FILTER_TAKE_EMPTY},
		{"more", "pg_wal", FILTER_TAKE},
		{"more", "pg_replslot", FILTER_TAKE_EMPTY},
		{"global", "pg_control", FILTER_LEAVE_OUT},
		{"more", "pg_control", FILTER_TAKE},
		{"more", ".DS_Store", FILTER_LEAVE_OUT},
	};

	for (int i = 0; i < (int) lengthof(entries); i++)
		is_number(backup_filter_entry(entries[i].directory, entries[i].name),
				  entries[i].filter, entries[i].name);
}

static void
check_directories(void)
{
	ok(backup_filter_is_global("global"), "global");
	ok(!backup_filter_is_database("global"), "global does not belong to a database");
	ok(backup_filter_is_database("base/5"), "a database");
	ok(!backup_filter_is_database("base/5/6"), "below a database");
	ok(!backup_filter_is_database("base/x5"), "not a number");
	ok(!backup_filter_is_database("more/5"), "elsewhere");
	ok(backup_filter_is_database("pg_tblspc/16384/PG_17_202406281/5"),
	   "a database in a tablespace");
	ok(!backup_filter_is_database("pg_tblspc/16384"), "a tablespace");
}

static void
check_relations(void)
{
	static const char *const not_relations[] = {
		"", "x1", "1x", "1_", "1_main", "1.", "1.x", "1_vm.", "1_initx", "t3_1"
	};
	RelationFile file;

	ok(backup_filter_relation("16384", &file), "the main fork");
	is_number(file.number, 16384, "its number");
	is_number(file.segment, 0, "its first segment");
	ok(!file.init_fork, "no init fork");
	ok(backup_filter_relation("1259_fsm.12", &file), "another fork");
	is_number(file.segment, 12, "a later segment");
	ok(backup_filter_relation("1259_init", &file) && file.init_fork,
	   "an init fork");
	for (int i = 0; i < (int) lengthof(not_relations); i++)
		ok(!backup_filter_relation(not_relations[i], &file), not_relations[i]);
	ok(backup_filter_is_temporary("t3_16384_vm.1"), "a temporary relation");
	ok(!backup_filter_is_temporary("t3_"), "none of its");
	ok(!backup_filter_is_temporary("t_16384"), "no backend");
}

void
test_backup_filter(void)
{
	check_entries();
	check_directories();
	check_relations();
}
