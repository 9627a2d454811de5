/*
 * globals_read.c
 *		Has stock pg_dumpall write what databases share.
 */
#include "base/fe_compat.h"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "globals/globals_read.h"
#include "stock/stock_pg_dumpall.h"

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
 * A file rather than a pipe, so that what it writes need not be taken while
 * what it says is heard.
 */
char *
globals_read(PGconn *conn, const PeerAddress *address, const char *part,
			 const Options *options, const char *argv0)
{
	char	   *program = stock_pg_dumpall_find(options, argv0);
	int			fd = new_nameless_file();
	char	   *text;

	pg_log_info("reading roles and tablespaces with \"%s\"", program);
	stock_pg_dumpall_run(program, part, options, address, PQdb(conn), fd);
	text = read_all(fd);
	check_end(text);
	close(fd);
	free(program);
	return text;
}
