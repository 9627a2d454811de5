/*
 * fe_compat.h
 *		Hides differences between PostgreSQL major versions from the frontend.
 *		Every .c file includes it first.
 *
 * This is the only file of the frontend that tests the version that it is
 * compiled with.  Differences between servers, or between versions of
 * pg_dump, are found out at run time.
 */
#ifndef FE_COMPAT_H
#define FE_COMPAT_H

#include "postgres_fe.h"

/* Most files need these system headers. */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/logging.h"
#include "storage/block.h"

#if PG_VERSION_NUM < 150000
#error "pg_pardump needs PostgreSQL 15 or newer"
#endif

/*
 * setFmtEncoding() was added in these minor versions.  Without it, quoting is
 * not safe in every encoding.
 */
#if PG_VERSION_NUM < 150011 || \
	(PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 160007) || \
	(PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 170003)
#error "pg_pardump needs PostgreSQL 15.11, 16.7, 17.3 or a newer minor"
#endif

/*
 * All messages must go through message.h.  The macros of common/logging.h
 * call the function of this name.
 */
#include "base/message.h"
#define pg_log_generic message_log
#define log_generic_v(level, part, format, args) \
	pg_log_generic_v((enum pg_log_level) (level), (enum pg_log_part) (part), format, args)

/* PostgreSQL 18 made this a prefix (c.h). */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* Flushes a data directory file by file (common/file_utils.h). */
#if PG_VERSION_NUM >= 180000
#define sync_data_directory(path, version) \
	sync_pgdata(path, version, DATA_DIR_SYNC_METHOD_FSYNC, true)
#elif PG_VERSION_NUM >= 170000
#define sync_data_directory(path, version) \
	sync_pgdata(path, version, DATA_DIR_SYNC_METHOD_FSYNC)
#else
#define sync_data_directory(path, version) fsync_pgdata(path, version)
#endif

/*
 * PostgreSQL 17 can write a database into primary_conninfo
 * (fe_utils/recovery_gen.h).
 */
#if PG_VERSION_NUM >= 170000
#define generate_recovery_config(conn) GenerateRecoveryConfig(conn, NULL, NULL)
#else
#define generate_recovery_config(conn) GenerateRecoveryConfig(conn, NULL)
#endif

/*
 * The version of this program, and that of the extension that it works with.
 */
#define PARDUMP_VERSION "1.0.0"
#define PARDUMP_EXTENSION_VERSION "1.0"

#endif							/* FE_COMPAT_H */
