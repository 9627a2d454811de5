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

#include "common/logging.h"
#include "storage/block.h"

#if PG_VERSION_NUM < 140000
#error "pg_pardump needs PostgreSQL 14 or newer"
#endif

/* setFmtEncoding(), without which quoting is not safe in every encoding */
#if PG_VERSION_NUM < 140016 || \
	(PG_VERSION_NUM >= 150000 && PG_VERSION_NUM < 150011) || \
	(PG_VERSION_NUM >= 160000 && PG_VERSION_NUM < 160007) || \
	(PG_VERSION_NUM >= 170000 && PG_VERSION_NUM < 170003)
#error "pg_pardump needs PostgreSQL 14.16, 15.11, 16.7, 17.3 or a newer minor"
#endif

/* 15 split messages in parts and added pg_fatal() (common/logging.h) */
#if PG_VERSION_NUM < 150000
#define pg_log_error_detail(...) pg_log_error(__VA_ARGS__)
#define pg_log_error_hint(...) pg_log_error(__VA_ARGS__)
#define pg_log_warning_detail(...) pg_log_warning(__VA_ARGS__)
#define pg_log_warning_hint(...) pg_log_warning(__VA_ARGS__)
#define pg_fatal(...) do { \
		pg_log_fatal(__VA_ARGS__); \
		exit(1); \
	} while(0)
#endif

/*
 * Messages are ours to note (message.h).  The macros of common/logging.h name
 * this function; up to 14 a message had no parts.
 */
#include "base/message.h"
#if PG_VERSION_NUM >= 150000
#define pg_log_generic message_log
#define log_generic_v(level, part, format, args) \
	pg_log_generic_v((enum pg_log_level) (level), (enum pg_log_part) (part), format, args)
#define LIBRARY_MESSAGE(name) name(int level, int part, const char *format,...)
#define LIBRARY_MESSAGE_ATTRIBUTE pg_attribute_printf(3, 4)
#define LIBRARY_MESSAGE_PART part
#else
#define pg_log_generic(level, ...) \
	message_log(level, MESSAGE_PRIMARY, __VA_ARGS__)
#define log_generic_v(level, part, format, args) \
	pg_log_generic_v((enum pg_log_level) (level), format, args)
#define LIBRARY_MESSAGE(name) name(int level, const char *format,...)
#define LIBRARY_MESSAGE_ATTRIBUTE pg_attribute_printf(2, 3)
#define LIBRARY_MESSAGE_PART MESSAGE_PRIMARY
#endif

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
