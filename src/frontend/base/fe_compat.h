/*
 * fe_compat.h
 *		Differences between PostgreSQL majors, as the frontend meets them.
 *
 * The only file of the frontend with version tests on what it is compiled
 * against.  What depends on the server or on pg_dump is asked at run time.
 */
#ifndef FE_COMPAT_H
#define FE_COMPAT_H

#include "postgres_fe.h"

/* what most files need of the system */
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common/logging.h"
#include "storage/block.h"

#if PG_VERSION_NUM < 150000
#error "pg_pardump needs PostgreSQL 15 or newer"
#endif

/* setFmtEncoding(), without which quoting is not safe in every encoding */
#if PG_VERSION_NUM < 150011 || \
	(PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 160007) || \
	(PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 170003)
#error "pg_pardump needs PostgreSQL 15.11, 16.7, 17.3 or a newer minor"
#endif

/*
 * Messages are ours to note (message.h).  The macros of common/logging.h name
 * this function.
 */
#include "base/message.h"
#define pg_log_generic message_log
#define log_generic_v(level, part, format, args) \
	pg_log_generic_v((enum pg_log_level) (level), (enum pg_log_part) (part), format, args)

/* 18 made it a prefix (c.h) */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/* How a data directory is flushed (common/file_utils.h), file by file. */
#if PG_VERSION_NUM >= 180000
#define sync_data_directory(path, version) \
	sync_pgdata(path, version, DATA_DIR_SYNC_METHOD_FSYNC, true)
#elif PG_VERSION_NUM >= 170000
#define sync_data_directory(path, version) \
	sync_pgdata(path, version, DATA_DIR_SYNC_METHOD_FSYNC)
#else
#define sync_data_directory(path, version) fsync_pgdata(path, version)
#endif

/* 17 writes a database into primary_conninfo (fe_utils/recovery_gen.h). */
#if PG_VERSION_NUM >= 170000
#define generate_recovery_config(conn) GenerateRecoveryConfig(conn, NULL, NULL)
#else
#define generate_recovery_config(conn) GenerateRecoveryConfig(conn, NULL)
#endif

/* This program, and the version of the extension it works with. */
#define PARDUMP_VERSION "1.0.0"
#define PARDUMP_EXTENSION_VERSION "1.0"

#endif							/* FE_COMPAT_H */
