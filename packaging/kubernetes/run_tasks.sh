#!/bin/sh
#
# run_tasks.sh: run tasks of a dump as an Indexed Job, wait for it, remove it.
#
# usage: pg_pardump --tasks=N --run-tasks='run_tasks.sh %p %n %L' ...
#
# The arguments are the path of the plan, which all pods see under that path,
# the number of tasks, and those that are to be run: an index of the job is one
# of these.  The job is made from dump_tasks.yaml, which is next to this script,
# or from the file that $MANIFEST names.  The exit code is 0 if the job has
# ended, even if tasks of it have failed: the leader finds missing files, and
# runs the tasks of these files again.

set -eu

plan=$1
number=$2
shift 2
name=pg-pardump-$(date +%s)-$$

# Kubernetes' own names are the manifest's, and a value is quoted there.
case $plan in
	*[!A-Za-z0-9_./-]*)
		echo "run_tasks.sh: error: the path of the plan has other characters than letters, digits, _ . - and /" >&2
		exit 1
		;;
esac

finish()
{
	status=$?
	trap - EXIT
	kubectl delete job "$name" --ignore-not-found --wait=false >/dev/null || status=1
	exit "$status"
}

trap finish EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM

sed -e "s|JOB_NAME|$name|; s|COMPLETIONS|$#|; s|TASK_NUMBER|$number|" \
	-e "s|PLAN_PATH|$plan|; s|TASK_LIST|$*|" \
	"${MANIFEST:-$(dirname "$0")/dump_tasks.yaml}" | kubectl apply -f - >/dev/null

# One wait for two conditions there is not.
while :; do
	conditions=$(kubectl get job "$name" \
		-o 'jsonpath={range .status.conditions[?(@.status=="True")]}{.type}{"\n"}{end}')
	case $conditions in
		*Complete* | *Failed*) break ;;
	esac
	sleep "${INTERVAL:-5}"
done
