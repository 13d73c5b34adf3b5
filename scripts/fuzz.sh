#!/usr/bin/env bash
# Fuzzes every target of the given packages, one after the other.
#   scripts/fuzz.sh FUZZTIME PACKAGE...
set -euo pipefail

fuzztime=$1
shift

# go test -list prints a package's targets, then a line "ok <package> <time>".
targets=$(go test -list '^Fuzz' "$@" | awk '
	/^Fuzz/ { names[++n] = $1 }
	$1 == "ok" { for (i = 1; i <= n; i++) print $2, names[i]; n = 0 }
')
if [[ -z $targets ]]; then
	echo "fuzz: no target in $*"
	exit 0
fi

count=0
while read -r package name; do
	echo "fuzz: $name of $package for $fuzztime"
	go test -run '^$' -fuzz "^$name\$" -fuzztime "$fuzztime" "$package"
	count=$((count + 1))
done <<<"$targets"
echo "fuzz: $count targets, no failure"
