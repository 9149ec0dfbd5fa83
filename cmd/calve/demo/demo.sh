#!/usr/bin/env bash
# Loads three days of flights, the middle one again, and then the middle one
# corrected; shows that only that day changed and nothing doubled. Works in a
# scratch folder; exits non-zero when anything is not as it must be.
#
# CATALOG is the "catalog:" part of calve.yaml, CREATE the flag that creates a
# namespace on it; minio.sh sets both. Left out: the embedded catalog.
set -eu

root=$(cd "$(dirname "$0")/../../.." && pwd)
calve=$root/bin/calve
data=$root/cmd/calve/demo
[ -x "$calve" ] || { echo "no $calve: go build -o bin/calve ./cmd/calve" >&2; exit 1; }

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
cd "$work"

# say prints a command as one would type it and runs it.
say() {
	printf '\n$ %s\n' "$*"
	"$@"
}
calve() { "$calve" "$@"; }

days='2013-01-01 2013-01-02 2013-01-03'
wrong=0

# check DAY WANT: the day has so many rows.
check() {
	printf '\n$ calve rows demo.flights --window %s --count\n' "$1"
	rows=$(calve rows demo.flights --window "$1" --count)
	echo "$rows"
	if [ "$rows" != "$2" ]; then
		echo "WRONG: $1 has $rows rows, not $2" >&2
		wrong=1
	fi
}
check_all() {
	check 2013-01-01 228
	check 2013-01-02 264
	check 2013-01-03 257
}

# content DAY: the day's rows in an order of their own, to compare.
content() { calve rows demo.flights --window "$1" --json | sort; }

# expect TEXT FILE, and its opposite: a line of the file has the text, or none.
expect() { grep -q -- "$1" "$2" || { echo "WRONG: no $1" >&2; wrong=1; }; }
expect_not() { ! grep -q -- "$1" "$2" || { echo "WRONG: there is $1" >&2; wrong=1; }; }

mkdir incoming
for day in $days; do cp "$data/flights-$day.csv" incoming/; done
cp "$data/flights-2013-01-02-corrected.csv" corrected.csv
{
	[ -z "${CATALOG:-}" ] || printf '%s\n' "$CATALOG"
	cat <<-'YAML'
	loads:
	  flights:
	    table: demo.flights
	    time_column: time_hour
	    source:
	      path: incoming/*.csv
	      null: ["NA"]
	YAML
} >calve.yaml

say ls incoming
say cat calve.yaml

echo; echo "# Three days, one load each. What the first would do:"
say calve plan flights --window 2013-01-01 ${CREATE:-}
for day in $days; do say calve load flights --window "$day" ${CREATE:-}; done
check_all
for day in $days; do content "$day" >"$day.before"; done

echo; echo "# The middle day again. The table holds it already:"
say calve load flights --window 2013-01-02
echo; echo "# And with a new snapshot all the same. Nothing doubles:"
say calve load flights --window 2013-01-02 --commit-unchanged
check_all
for day in $days; do
	content "$day" | cmp -s - "$day.before" || { echo "WRONG: $day is not what it was" >&2; wrong=1; }
done

echo; echo "# The middle day was wrong: one delay, one flight too many, one missing."
say cp corrected.csv incoming/flights-2013-01-02.csv
say calve load flights --window 2013-01-02
check_all
for day in $days; do content "$day" >"$day.after"; done

echo; echo "# What changed on each day, rows removed (<) and added (>):"
for day in $days; do
	changed=$(diff "$day.before" "$day.after" | grep '^[<>]' || true)
	printf '\n%s: ' "$day"
	if [ -z "$changed" ]; then echo nothing; else printf '\n%s\n' "$changed"; fi
	if [ "$day" != 2013-01-02 ] && [ -n "$changed" ]; then
		echo "WRONG: $day changed" >&2
		wrong=1
	fi
done
expect '"dep_delay":57,.*"flight":299,' 2013-01-02.after
expect '"flight":9999,' 2013-01-02.after
expect_not '"flight":1,"tailnum":"N336AA".*"time_hour":"2013-01-02T14:00:00Z"' 2013-01-02.after

echo; echo "# Every load that changed or rewrote something is one snapshot:"
say calve history demo.flights

echo
[ "$wrong" = 0 ] || { echo "The demo went WRONG." >&2; exit 1; }
echo "Only 2013-01-02 changed, and nothing doubled."
