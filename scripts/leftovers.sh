#!/usr/bin/env bash
# Lists processes that carry the mark of this run in their environment, and fails if there are any. The run that wants
# to know exports WHERRY_RUN with a value of its own before it starts anything; a process inherits it however far it
# detaches itself. Without a mark there is nothing to look for. Linux only, as it reads /proc.
set -euo pipefail

mark=${WHERRY_RUN:-}
if [[ -z $mark ]]; then
	echo "leftovers: WHERRY_RUN is not set, nothing to look for"
	exit 0
fi

# This script, and the run above it, carry the mark too.
declare -A above
pid=$$
while [[ $pid -gt 1 ]]; do
	above[$pid]=1
	pid=$(awk '$1 == "PPid:" { print $2 }' "/proc/$pid/status")
done

# What is just about to end gets ten seconds for it.
for _ in {1..20}; do
	left=()
	for environ in $(grep -lzsxF "WHERRY_RUN=$mark" /proc/[0-9]*/environ || true); do
		pid=${environ#/proc/}
		pid=${pid%/environ}
		# The grep of this loop carries the mark as well, and is gone by now.
		if [[ -z ${above[$pid]:-} && -d /proc/$pid ]] && ! grep -qs '^State:.*zombie' "/proc/$pid/status"; then
			left+=("$pid")
		fi
	done
	if [[ ${#left[@]} -eq 0 ]]; then
		echo "leftovers: no process is left"
		exit 0
	fi
	sleep 0.5
done

echo "leftovers: ${#left[@]} processes are left" >&2
for pid in "${left[@]}"; do
	printf '  %s %s\n' "$pid" "$(tr '\0' ' ' <"/proc/$pid/cmdline" 2>/dev/null || true)" >&2
done
exit 1
