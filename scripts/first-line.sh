#!/usr/bin/env bash
# Measures how long a newcomer waits for the first line of `make demo`: with an empty module cache and an empty build
# cache. Fails when it took longer than LIMIT seconds, or when the demo does not end well.
#   scripts/first-line.sh LIMIT
set -euo pipefail

limit=$1
caches=$(mktemp -d)
trap 'rm -rf "$caches"' EXIT
mkfifo "$caches/out"

export GOMODCACHE=$caches/mod GOCACHE=$caches/build
export GOFLAGS="${GOFLAGS:-} -modcacherw"

start=$EPOCHREALTIME
timeout --kill-after=10 $((limit + 120)) make demo ARGS="--duration 2s" >"$caches/out" &
demo=$!

first='' last='' took=0
while IFS= read -r line; do
	if [[ -z $first && -n $line ]]; then
		first=$line
		now=$EPOCHREALTIME
		took=$((${now/[.,]/} - ${start/[.,]/}))
	fi
	if [[ -n $line ]]; then
		last=$line
	fi
done <"$caches/out"

status=0
wait "$demo" || status=$?

printf 'first line after %d.%01d s (limit %d s): %s\n' $((took / 1000000)) $((took / 100000 % 10)) "$limit" "$first"
printf 'last line: %s\n' "$last"
if [[ $status -ne 0 ]]; then
	echo "first-line: the demo ended with status $status" >&2
	exit 1
fi
if [[ -z $first ]]; then
	echo "first-line: the demo printed nothing" >&2
	exit 1
fi
if [[ $took -gt $((limit * 1000000)) ]]; then
	echo "first-line: later than $limit s" >&2
	exit 1
fi
