#!/bin/bash
#
# validate_manifests.sh: hold the manifests for Kubernetes to its published
# schema.
#
# usage: scripts/validate_manifests.sh
#
# kubernetes-validate, from PyPI, brings the schemas; it goes into a directory
# that is removed at the end.  Needs Python with its module venv.

set -euo pipefail
. "$(dirname "$0")/common.sh"

VALIDATE_VERSION=1.37.0

case ${1:-} in
	--help | -h) print_help; exit 0 ;;
	?*) die "unknown argument \"$1\"; see --help" ;;
esac
make_work_directory
if ! { python3 -m venv "$WORK/venv" &&
	"$WORK/venv/bin/pip" install "kubernetes-validate==$VALIDATE_VERSION"; } >"$WORK/install.log" 2>&1; then
	tail -n 20 "$WORK/install.log" >&2
	die "could not install kubernetes-validate"
fi
for manifest in "$TREE"/packaging/kubernetes/*.yaml; do
	sed 's/JOB_NAME/name/; s/: COMPLETIONS$/: 4/' "$manifest" >"$WORK/manifest.yaml"
	# backoffLimitPerIndex is a beta feature before 1.33
	for version in 1.33 "${VALIDATE_VERSION%.*}"; do
		"$WORK/venv/bin/kubernetes-validate" --strict --quiet -k "$version" "$WORK/manifest.yaml" >&2 ||
			die "$(basename "$manifest") is not valid by the schema of Kubernetes $version"
	done
done
log "the manifests are valid by the schemas of Kubernetes 1.33 and ${VALIDATE_VERSION%.*}"
