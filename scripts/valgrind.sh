#!/usr/bin/env bash
# Sees to it that valgrind is there, by which instructions are counted. Root on a system with apt-get gets it installed;
# anybody else is told how.
set -euo pipefail

if command -v valgrind >/dev/null && command -v callgrind_annotate >/dev/null; then
	exit 0
fi
if [[ $(id -u) -ne 0 ]] || ! command -v apt-get >/dev/null; then
	echo "valgrind: not installed. Install it by \"apt-get install valgrind\" as root, or by your system's package manager." >&2
	exit 1
fi
echo "valgrind: not installed; installing it by apt-get"
# The lists of packages may be missing or old; what fails here fails again, and is said, below.
apt-get update -q || true
DEBIAN_FRONTEND=noninteractive apt-get install -qy --no-install-recommends valgrind
