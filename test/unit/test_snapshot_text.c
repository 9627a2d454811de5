/*
 * test_snapshot_text.c
 *		Files of exported snapshots, and which servers write them whole.
 */
#include "base/fe_compat.h"

#include "session/snapshot.h"
#include "shared/snapshot_text.h"
#include "unit_test.h"

#define HEAD "vxid:5/12\npid:4711\ndbid:16384\niso:2\nro:1\nxmin:750\nxmax:4294967295\n"

/* As 18.6 and 17.12 have written them on a standby, and 18.6 on a primary. */
static const char affected[] = HEAD "xcnt:0\nsof:1\nrec:1\n";
static const char fixed[] = HEAD "xcnt:0\nsof:1\nsxcnt:2\nsxp:750\nsxp:752\nrec:1\n";
static const char primary[] = HEAD "xcnt:2\nxip:750\nxip:4294967290\nsof:1\nrec:0\n";
static const char simple[] = HEAD "xcnt:0\nsof:0\nsxcnt:0\nrec:1\n";

typedef struct WrongSnapshot
{
	const char *text;
	const char *problem;
} WrongSnapshot;

static const WrongSnapshot wrong[] = {
	{"", "vxid:"},
	{"vxid:", "vxid:"},
	{"vxid:5\npid:1\n", "vxid:"},
	{"vxid:5/\n", "vxid:"},
	{"vxid:-5/1\n", "vxid:"},
	{"vxid:5/4294967296\n", "vxid:"},
	{"vxid:5/1\ndbid:1\n", "pid:"},
	{HEAD "xcnt:0\nsof:0\nrec:1\n", "sxcnt:"},
	{HEAD "xcnt:0\nsof:1\nsxcnt:1\nrec:1\n", "sxp:"},
	{HEAD "xcnt:0\nsof:1\nsxcnt:99999999999999999999\nrec:1\n", "sxcnt:"},
	{HEAD "xcnt:0\nsof:1\nsxcnt:2147483647\nsxp:1\nrec:1\n", "sxp:"},
	{HEAD "xcnt:1\nsof:1\nrec:1\n", "xip:"},
	{HEAD "xcnt:0\nsof:2\nrec:1\n", "sof:"},
	{HEAD "xcnt:0\nsof:1\nrec:2\n", "rec:"},
	{HEAD "xcnt:0\nsof:1\nrec:\n", "rec:"},
	{HEAD "xcnt:0\nsof:1\nrec:1", "rec:"},
	{HEAD "xcnt:0\nsof:1\n", "rec:"},
	{HEAD "xcnt:0\nsof:1\nrec:1\nx", "end"},
	{"vxid:5/12\r\npid:1\n", "vxid:"},
};

static bool
is_incomplete(const char *text)
{
	SnapshotText snapshot;

	is_text(snapshot_text_read(&snapshot, text, strlen(text)), NULL, "it is read");
	return snapshot_text_is_incomplete(&snapshot);
}

static void
test_values(void)
{
	SnapshotText snapshot;
	uint32_t	list[2];

	is_text(snapshot_text_read(&snapshot, fixed, strlen(fixed)), NULL, "a whole one");
	ok(snapshot.overflowed && snapshot.has_subxids && snapshot.in_recovery,
	   "overflowed, with the list of subtransactions, in recovery");
	is_number(snapshot.xmin, 750, "xmin");
	is_number(snapshot.xmax, INT64CONST(4294967295), "xmax");
	is_number(snapshot.n_xids, 0, "no top-level transaction");
	is_number(snapshot.n_subxids, 2, "two in the other list");
	snapshot_text_list(snapshot.subxids, snapshot.n_subxids, list);
	is_number(list[0], 750, "the first of these");
	is_number(list[1], 752, "the second one");
	is_text(snapshot_text_read(&snapshot, primary, strlen(primary)), NULL, "a primary's");
	ok(snapshot.overflowed && !snapshot.has_subxids && !snapshot.in_recovery,
	   "overflowed, without that list, not in recovery");
	is_number(snapshot.n_xids, 2, "two top-level transactions");
	snapshot_text_list(snapshot.xids, snapshot.n_xids, list);
	is_number(list[0], 750, "the first of them");
	is_number(list[1], INT64CONST(4294967290), "the second one");
}

static void
test_versions(void)
{
	static const int old[] = {90624, 130023, 140024, 150019, 160015, 170011, 180006};
	static const int new[] = {140025, 150020, 160016, 170012, 170013, 180007, 190000, 200001};

	for (int i = 0; i < (int) lengthof(old); i++)
		ok(!snapshot_is_fixed(old[i]), psprintf("%d is not fixed", old[i]));
	for (int i = 0; i < (int) lengthof(new); i++)
		ok(snapshot_is_fixed(new[i]), psprintf("%d is fixed", new[i]));
	is_text(snapshot_fixed_release(140003), "14.25", "the release of 14");
	is_text(snapshot_fixed_release(180006), "18.7", "the release of 18");
	is_text(snapshot_fixed_release(130023), NULL, "13 has none");
}

void
test_snapshot_text(void)
{
	ok(is_incomplete(affected), "an overflowed one of a standby without a list");
	ok(!is_incomplete(fixed), "with a list");
	ok(!is_incomplete(primary), "of a primary");
	ok(!is_incomplete(simple), "one that has not overflowed");
	test_values();
	for (int i = 0; i < (int) lengthof(wrong); i++)
	{
		SnapshotText snapshot;

		is_text(snapshot_text_read(&snapshot, wrong[i].text, strlen(wrong[i].text)),
				wrong[i].problem, psprintf("wrong text %d", i + 1));
	}
	for (size_t i = 0; i < strlen(fixed); i++)
	{
		SnapshotText snapshot;

		ok(snapshot_text_read(&snapshot, fixed, i) != NULL, "one that was cut");
	}
	ok(snapshot_text_is_id("00000003-0000001B-1"), "an identifier");
	ok(!snapshot_text_is_id(""), "nothing is none");
	ok(!snapshot_text_is_id("../pg_hba.conf"), "nor is a path");
	ok(!snapshot_text_is_id("0000000a-1"), "nor lower case");
	ok(!snapshot_text_is_id("0000000000000000000000000000000000000000000000000000000000000000"),
	   "nor one that is too long");
	test_versions();
}
