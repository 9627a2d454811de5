/*
 * fuzz_toc.c
 *		toc_read_file() on any bytes.
 */
#include "base/fe_compat.h"

#include "archive/toc_file.h"

typedef struct Input
{
	const uint8_t *pos;
	size_t		left;
} Input;

static size_t
read_input(void *arg, void *buf, size_t len)
{
	Input	   *input = arg;
	size_t		part = Min(len, input->left);

	memcpy(buf, input->pos, part);
	input->pos += part;
	input->left -= part;
	return part;
}

extern int	LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int
LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	Input		input = {data, size};
	const char *problem;
	Toc		   *toc = toc_read_file(read_input, &input, false, &problem);

	if (toc)
		toc_free(toc);
	else if (problem == NULL)
		abort();
	return 0;
}
