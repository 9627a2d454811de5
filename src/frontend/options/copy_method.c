/*
 * copy_method.c
 *		How a file of the archive before becomes one of this.
 */
#include "base/fe_compat.h"

#include "options/copy_method.h"

static const char *const names[] = {"link", "clone", "copy"};

const char *
copy_method_name(CopyMethod method)
{
	return names[method];
}

bool
copy_method_find(const char *name, CopyMethod *method)
{
	for (int i = 0; i < (int) lengthof(names); i++)
		if (strcmp(name, names[i]) == 0)
		{
			*method = (CopyMethod) i;
			return true;
		}
	return false;
}
