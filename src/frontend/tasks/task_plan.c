/*
 * task_plan.c
 *		What the plan of every run by tasks has, in its file.
 */
#include "base/fe_compat.h"

#include "tasks/task_plan.h"

#define RUN(name, kind, member) {name, kind, offsetof(TaskRun, member)}

const PlanField task_run_fields[] = {
	RUN("version", PLAN_TEXT, version),
	RUN("what", PLAN_TEXT, what),
	RUN("run", PLAN_TEXT, run_id),
	RUN("tasks", PLAN_INT, n_tasks),
	RUN("conninfo", PLAN_TEXT, conninfo),
	RUN("time_zone", PLAN_TEXT, time_zone),
	RUN("date_style", PLAN_TEXT, date_style),
	RUN("system_identifier", PLAN_TEXT, server.system_identifier),
	RUN("timeline", PLAN_TEXT, server.timeline),
	RUN("database", PLAN_TEXT, server.database),
	RUN("user", PLAN_TEXT, server.user),
	RUN("role", PLAN_TEXT, role),
	RUN("enable_row_security", PLAN_BOOL, enable_row_security),
	RUN("retries", PLAN_UINT64, retries),
	{NULL}
};

#define JOB(name, kind, member) {name, kind, offsetof(Job, member)}

const PlanField task_job_fields[] = {
	JOB("kind", PLAN_INT, kind),
	JOB("first", PLAN_INT, first),
	JOB("n", PLAN_INT, n),
	JOB("task", PLAN_INT, task),
	JOB("bytes", PLAN_UINT64, est_bytes),
	{NULL}
};
