/*
 * globals_read.c
 *		Has stock pg_dumpall write what databases share.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fe_utils/string_utils.h"

#include "globals/globals_read.h"
#include "session/session.h"
#include "stock/stock_pg_dump.h"

/*
 * A file that only this process, and what it starts, can have, and that is on
 * no disk: hashes of passwords are in it.
 */
static int
new_nameless_file(void)
{
	int			fd = memfd_create("pg_pardump globals", MFD_CLOEXEC);

	if (fd < 0)
		pg_fatal("%s() failed: %m", "memfd_create");
	return fd;
}

/* All of it; a script has no zero byte. */
static char *
read_all(int fd)
{
	struct stat st;
	char	   *text;
	off_t		len = 0;

	if (fstat(fd, &st) < 0 || lseek(fd, 0, SEEK_SET) < 0)
		pg_fatal("could not read the output of pg_dumpall: %m");
	text = pg_malloc(st.st_size + 1);
	while (len < st.st_size)
	{
		ssize_t		got = read(fd, text + len, st.st_size - len);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			pg_fatal("could not read the output of pg_dumpall: %m");
		if (got == 0)
			break;
		len += got;
	}
	text[len] = '\0';
	return text;
}

/* pg_dumpall does not notice that it could not write all. */
static void
check_end(const char *text)
{
	const char *end = strstr(text, "\n-- PostgreSQL database cluster dump complete\n");

	if (end == NULL)
		pg_fatal("the output of pg_dumpall is not complete");
}

/*
 * What the role's settings, or those of its database, would end a statement
 * after, in milliseconds, not what this session has set since.
 */
static const char timeouts_query[] =
"SELECT s.name, s.reset_val FROM pg_catalog.pg_settings s"
" WHERE s.name OPERATOR(pg_catalog.=) ANY"
" (ARRAY['statement_timeout', 'lock_timeout']::pg_catalog.text[])";

/* None of pg_dumpall's statements takes as long. */
#define LONG_TIMEOUT_MS 60000

/*
 * pg_dumpall does not set them to 0, as pg_dump does.  That they are, of its
 * connection string, owned; empty unless one of them might end it, as poolers
 * refuse such options.
 */
static char *
without_timeouts(PGconn *conn)
{
	PGresult   *res = session_query(conn, timeouts_query);
	const char *given = PQoptions(conn);
	PQExpBufferData options;
	PQExpBufferData text;
	bool		any = false;

	initPQExpBuffer(&options);
	initPQExpBuffer(&text);
	appendPQExpBufferStr(&options, given ? given : "");
	for (int i = 0; i < PQntuples(res); i++)
	{
		long		ms = strtol(PQgetvalue(res, i, 1), NULL, 10);

		if (ms <= 0 || ms >= LONG_TIMEOUT_MS)
			continue;
		appendPQExpBuffer(&options, " -c %s=0", PQgetvalue(res, i, 0));
		any = true;
	}
	PQclear(res);
	if (any)
	{
		appendPQExpBufferStr(&text, " options=");
		appendConnStrVal(&text, options.data);
	}
	if (PQExpBufferDataBroken(options) || PQExpBufferDataBroken(text))
		pg_fatal("out of memory");
	termPQExpBuffer(&options);
	return text.data;
}

/*
 * A file rather than a pipe, so that what it writes need not be taken while
 * what it says is heard.
 */
char *
globals_read(PGconn *conn, const PeerAddress *address, const char *part,
			 const Options *options, const char *argv0)
{
	char	   *program = stock_pg_dumpall_find(options, argv0);
	char	   *more = without_timeouts(conn);
	int			fd = new_nameless_file();
	char	   *text;

	pg_log_info("reading roles and tablespaces with \"%s\"", program);
	stock_pg_dumpall_run(program, part, options, address, PQdb(conn), more, fd);
	text = read_all(fd);
	check_end(text);
	close(fd);
	free(more);
	free(program);
	return text;
}
