/*
 * test_archive_name.c
 *		The names of an archive's files are recognised as they are made, and
 *		no others are.
 */
#include "base/fe_compat.h"

#include "archive/archive_name.h"
#include "unit_test.h"

/* A name that was made, which is one of an archive's. */
static void
check_made(char *name, const char *expected)
{
	is_text(name, expected, expected);
	ok(archive_name_is_part(name), psprintf("%s is an archive's", name));
	free(name);
}

void
test_archive_name(void)
{
	static const char *const parts[] = {TOC_NAME, TOC_TEMP_NAME, MANIFEST_NAME,
		"4.dat", "blob_4.dat.lz4",
	};
	static const char *const others[] = {"", ".", "..", "x", "4.DAT", ".dat",
		"4.dat.bz2", "4x.dat", "-4.dat", " 4.dat", "4.dat ", "4.dat.gz.gz", "blob_.dat",
		"blob_x.dat", "blobs_x.toc", "blobs.toc.gz", "toc.dat.gz", "a/4.dat", "toc.dat.tmp2",
		"4.dat\n",
	};
	static const char *const harmful[] = {"", ".", "..", ".4.dat", "-4.dat", "a/4.dat", "4.dat\n",
		"4 .dat", "4'.dat", "4\".dat", "$HOME", "`id`", "4;id", "4&.dat", "4|id", "4>x", "4*",
		"4\\.dat", "~", "4\x80.dat", "4%f", "4-.dat",
	};

	check_made(archive_name_rows(7, COMPRESS_NONE), "7.dat");
	check_made(archive_name_rows(2147483647, COMPRESS_ZSTD), "2147483647.dat.zst");
	check_made(archive_name_large_object(4294967295U, COMPRESS_GZIP),
			   "blob_4294967295.dat.gz");
	check_made(archive_name_object_list(15, 7), "blobs.toc");
	check_made(archive_name_object_list(16, 7), "blobs_7.toc");
	for (int i = 0; i < (int) lengthof(parts); i++)
		ok(archive_name_is_part(parts[i]), psprintf("%s is an archive's", parts[i]));
	for (int i = 0; i < (int) lengthof(others); i++)
		ok(!archive_name_is_part(others[i]), psprintf("other name %d is none", i));
	for (int method = COMPRESS_NONE; method < N_COMPRESS_METHODS; method++)
		is_number(archive_name_method(archive_name_rows(1, method)), method,
				  psprintf("method %s", compress_method_name(method)));
	is_text(archive_name_compressed("7.dat", COMPRESS_LZ4), "7.dat.lz4", "with its suffix");
	for (int i = 0; i < (int) lengthof(parts); i++)
		ok(archive_name_is_harmless(parts[i]), psprintf("%s may be in a command", parts[i]));
	for (int i = 0; i < (int) lengthof(harmful); i++)
		ok(!archive_name_is_harmless(harmful[i]),
		   psprintf("harmful name %d may not be in a command", i));
}
