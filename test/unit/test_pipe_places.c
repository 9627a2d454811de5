/*
 * test_pipe_places.c
 *		Commands that store the files of two archives in the same place are
 *		found, and others are not.
 */
#include "base/fe_compat.h"

#include "options/pipe_places.h"
#include "unit_test.h"

void
test_pipe_places(void)
{
	/* the place is NULL if both differ, or if it is not known */
	static const struct
	{
		const char *read;
		const char *written;
		const char *place;
	}			pairs[] = {
		{"rclone cat r:shop/mon/%f", "rclone rcat r:shop/mon/%f", "r:shop/mon/%f"},
		{"rclone cat r:shop/mon/%f", "rclone rcat r:shop/tue/%f", NULL},
		{"cat /a/%f", "cat >/a/%f", "/a/%f"},
		{"cat /a/./b//%f", "cat >'/a/b/'%f", "/a/b/%f"},
		{"cat \"/a b/%f\"", "cat >/a\\ b/%f", "/a b/%f"},
		{"cat \"/a b/%f\"", "cat >'/c b/%f'", NULL},
		{"cat mon/%f", "cat >mon/%f", "mon/%f"},
		{"cat mon/%f.age", "cat >mon/%f", NULL},
		{"dd if=/a/%f", "dd bs=1 of=/a/%f", "/a/%f"},
		{"cat r:odd=20name/1/%f", "cat r:new=20name/1/%f", NULL},
		{"bash -o pipefail -c 'rclone cat r:a/%f.age | age -d -i k'",
		"bash -o pipefail -c 'age -R k | rclone rcat r:a/%f.age'", "r:a/%f.age"},
		{"bash -c \"rclone cat 'r:a/%f' | age -d\"",
		"bash -c \"age | rclone rcat 'r:b/%f'\"", NULL},
		{"ssh h 'cat /a/%f'", "ssh h 'cat >/a/%f'", "/a/%f"},
		/* the same temporary file, in commands for different places */
		{"aws s3 cp s3://b/mon/%f /tmp/%f; cat /tmp/%f",
		"cat >/tmp/%f; aws s3 cp /tmp/%f s3://b/tue/%f", NULL},
		/* what a script does with a name is not known */
		{"get mon %f", "put tue %f", NULL},
		{"cat /a/%%f/%f", "cat >/a/%%f/%f", "/a/%%f/%f"},
		{"cat /a/%d/%f", "cat >/a/%d/%f", "/a/%d/%f"},
		{"cat /a/%d/%f", "cat >/b/%d/%f", NULL},
	};

	/* of one command that copies a file */
	static const struct
	{
		const char *command;
		const char *place;
	}			copies[] = {
		{"cp /a/%o /a/%f", "/a/%f"},
		{"cp /a/%o /b/%f", NULL},
		{"cp /a/%f /b/%o", NULL},
		{"cd mon && cp %o ../tue/%f", NULL},
		{"ssh h \"cp /a/%o /a/%f\"", "/a/%f"},
		{"ssh h \"cp /a/%o /b/%f\"", NULL},
		{"copy mon tue %o %f", NULL},
	};

	for (int i = 0; i < (int) lengthof(pairs); i++)
		is_text(pipe_places_same(pairs[i].read, 'f', pairs[i].written, 'f'),
				pairs[i].place, pairs[i].written);
	for (int i = 0; i < (int) lengthof(copies); i++)
		is_text(pipe_places_same(copies[i].command, 'o', copies[i].command, 'f'),
				copies[i].place, copies[i].command);
}
