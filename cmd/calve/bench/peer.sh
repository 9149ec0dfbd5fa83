#!/usr/bin/env bash
# One load of a benchmark that runs loaders of several kinds on the same work:
#
#   peer.sh OP TABLE FORMAT GLOB DAY
#
# OP is first (create the table by day of event_time and load), replace (the day
# DAY) or upsert (merge by payment_id; WRITE is copy-on-write or merge-on-read); DAY
# is - where the files are the whole table. The catalog is the REST
# one at REST_URI, the store the S3 one at S3_ENDPOINT, keys from the
# environment. CALVE is the program; default: bin/calve of this tree.
set -eu
op=$1 table=$2 format=$3 source=$4 day=$5
calve=${CALVE:-$(cd "$(dirname "$0")/../../.." && pwd)/bin/calve}
case $op in first | replace | upsert) ;; *) echo "no $op" >&2; exit 2 ;; esac

config=$(mktemp)
trap 'rm -f "$config"' EXIT
cat >"$config" <<E2
catalog:
  type: rest
  uri: $REST_URI
  warehouse: ${WAREHOUSE:-s3://lake/wh}
  s3: {endpoint: "$S3_ENDPOINT", region: us-east-1}
loads: {}
E2

columns=()
if [ "$format" != parquet ]; then
	for c in payment_id=string merchant_id=int amount_cents=long currency=string status=string country=string \
		event_time=timestamptz created_at=timestamptz note=string 'fee=decimal(12,4)'; do
		columns+=(--column "$c")
	done
fi
window=$day
[ "$day" != - ] || window=0001-01-01/9999-12-31

mode=()
if [ "$op" = upsert ]; then
	# The data have no time of change; the amount rises with each.
	mode=(--mode merge --key payment_id --version-by amount_cents --write "${WRITE:-copy-on-write}")
fi

"$calve" load --config "$config" --source "$source" --type "$format" --table "$table" --time-column event_time \
	--window "$window" "${columns[@]}" "${mode[@]}" --create-namespace --allow-empty --commit-unchanged --quiet --json
