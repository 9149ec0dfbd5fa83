#!/usr/bin/env bash
# Starts a local MinIO with an empty bucket "lake" and prints the calve.yaml for
# it, until it is stopped; with --demo runs demo.sh on it and stops it. What is
# in it goes away with it.
#
# MINIO is the program, PORT its port.
set -eu

minio=${MINIO:-${XDG_CACHE_HOME:-$HOME/.cache}/calve/bin/minio-20260212/minio}
[ -x "$minio" ] || { echo "no MinIO at $minio: set MINIO to the program" >&2; exit 1; }
here=$(cd "$(dirname "$0")" && pwd)

listens() { (exec 3<>"/dev/tcp/127.0.0.1/$1") 2>/dev/null; }
port=${PORT:-19000}
if [ -z "${PORT:-}" ]; then
	while listens "$port"; do port=$((port + 1)); done
fi

work=$(mktemp -d)
pid=
stop() {
	[ -z "$pid" ] || { kill "$pid" 2>/dev/null; wait "$pid" 2>/dev/null; } || true
	rm -rf "$work"
}
trap stop EXIT
trap 'exit 130' INT
trap 'exit 143' TERM

export LAKE_KEY=minio LAKE_SECRET=minio12345
mkdir -p "$work/data/lake" # a folder in the data folder is a bucket
MINIO_ROOT_USER=$LAKE_KEY MINIO_ROOT_PASSWORD=$LAKE_SECRET \
	"$minio" server --quiet --address "127.0.0.1:$port" "$work/data" >"$work/minio.log" 2>&1 &
pid=$!
tries=0
until listens "$port"; do
	tries=$((tries + 1))
	if [ "$tries" -gt 300 ] || ! kill -0 "$pid" 2>/dev/null; then
		echo "MinIO did not start:" >&2
		cat "$work/minio.log" >&2
		exit 1
	fi
	sleep 0.1
done

# catalog FILE: the catalog is an SQLite file, the tables are in the bucket.
catalog() {
	cat <<-YAML
	catalog:
	  type: sql
	  uri: file:$1
	  warehouse: s3://lake/warehouse
	  s3:
	    endpoint: http://127.0.0.1:$port
	    region: us-east-1
	    access_key_id: \${LAKE_KEY}
	    secret_access_key: \${LAKE_SECRET}
	    path_style: true
	YAML
}

if [ "${1:-}" = --demo ]; then
	CATALOG=$(catalog catalog.db) CREATE=--create-namespace "$here/demo.sh"
	exit
fi
echo "# MinIO is at http://127.0.0.1:$port until Ctrl-C. In another shell:"
echo "#   export LAKE_KEY=$LAKE_KEY LAKE_SECRET=$LAKE_SECRET"
echo "# and in calve.yaml, with --create-namespace at the first load:"
catalog catalog.db
wait "$pid"
