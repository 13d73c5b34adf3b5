# Reads go test -v and prints what failed, and how many named tries, the sub-tests without any of their own, ran and passed.

/^ *--- (PASS|FAIL|SKIP): / {
	name = $3
	verdict[name] = $2
	parent = name
	while (sub(/\/[^\/]*$/, "", parent)) whole[parent] = 1
}

/^(ok|FAIL|panic:)/ || /--- FAIL/ || /_test\.go:/ { print; if ($1 == "FAIL" || $1 == "panic:") failed = 1 }

END {
	for (name in verdict) {
		if ((name in whole) || name !~ /\//) continue
		ran++
		if (verdict[name] == "PASS:") passed++
	}
	printf "%d tries ran, %d passed\n", ran, passed
	exit failed || ran != passed || ran == 0
}
