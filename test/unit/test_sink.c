/*
 * test_sink.c
 *		A chain of sinks counts what passes; the words of --pipe.
 */
#include "base/fe_compat.h"

#include "stream/sink.h"
#include "unit_test.h"

static void
check_command(const char *pattern, const char *name, const char *expected)
{
	char	   *found = sink_pipe_command(pattern, name, NULL);

	is_text(found, expected, pattern);
	free(found);
}

static void
check_copy(const char *pattern, const char *old_name, const char *expected)
{
	char	   *found = sink_pipe_command(pattern, "new", old_name);

	is_text(found, expected, psprintf("%s, with an old name", pattern));
	free(found);
}

static void
check_directory(const char *pattern, const char *expected)
{
	char	   *found = sink_pipe_directory(pattern, "databases/5");

	is_text(found, expected, psprintf("%s, with its directory", pattern));
	free(found);
}

static void
check_top(const char *pattern, const char *expected)
{
	char	   *found = sink_pipe_directory(pattern, NULL);

	is_text(found, expected, psprintf("%s, without a directory", pattern));
	free(found);
}

static void
check_chain(void)
{
	PQExpBuffer out = createPQExpBuffer();
	PQExpBuffer part = createPQExpBuffer();
	volatile uint64 counter = 0;
	Sink	   *sink = sink_tap_new(sink_buffer_new(out), &counter, NULL);

	sink_write(sink, "one ", 4);
	appendPQExpBufferStr(part, "two");
	sink_write_buffer(sink, part);
	is_number(part->len, 0, "a buffer that was written is empty");
	sink_finish(sink);
	is_text(out->data, "one two", "what was written arrives");
	is_number(counter, 7, "a tap counts");
	is_number(sink_stored_bytes(sink), 7, "so does the end of the chain");
	sink_free(sink);
	destroyPQExpBuffer(out);
	destroyPQExpBuffer(part);
}

void
test_sink(void)
{
	check_command("cat >%f", "12.dat.gz", "cat >12.dat.gz");
	check_command("cat >a%%b/%f", "x y'z", "cat >a%b/'x y'\"'\"'z'");
	check_command("%f %f", "f", "f f");
	check_command("cat", "f", "cat");
	check_command("cat >%x", "f", NULL);
	check_command("cat >%", "f", NULL);
	check_command("cp %o %f", "f", NULL);
	check_copy("cp mon/%o tue/%f", "old", "cp mon/old tue/new");
	check_copy("cp %%o%o %f", "o'ld", "cp %o'o'\"'\"'ld' new");
	check_copy("cp %o %x", "old", NULL);
	check_directory("cat >%d/%f", "cat >databases/5/%f");
	check_directory("%d %%d %%%d %", "databases/5 %%d %%databases/5 %");
	check_directory("cat >%f", "cat >%f");
	check_top("rclone rcat s:b/%d/%f", "rclone rcat s:b/%f");
	check_top("mkdir -p /b/%d && cat >/b/%d/%f", "mkdir -p /b/. && cat >/b/%f");
	check_top("%d/%d/x-%f %%d/%f", "x-%f %%d/%f");
	check_top("cd %d/ && cat '/b/%d/'%f", "cd ./ && cat '/b/./'%f");
	check_top("cat >%d//%f; ls %d/", "cat >.//%f; ls ./");
	check_chain();
}
