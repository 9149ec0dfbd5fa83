# Reads a table by PyIceberg from its metadata file.
import collections
import re

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import ALWAYS_TRUE, StaticTable

scan = ask["Scan"]
table = StaticTable.from_metadata(ask["Metadata"], properties=s3_properties(ask["S3"]))
result = table.scan(
    row_filter=scan["Filter"] or ALWAYS_TRUE,
    selected_fields=tuple(scan["Columns"] or ("*",)),
    snapshot_id=scan["SnapshotID"] or None,
).to_arrow()


def total(name, where):
    column = result.column(name).filter(where) if where is not None else result.column(name)
    return cell(pc.sum(column).as_py())


def group(name):
    day = re.fullmatch(r"day\((.*)\)", name)
    if not day:
        return [cell(v) for v in result.column(name).to_pylist()]
    column = result.column(day.group(1))
    if pa.types.is_timestamp(column.type) and column.type.tz:
        column = column.cast(pa.timestamp("us", "UTC"))
    return [None if v is None else "v:" + v.strftime("%Y-%m-%d") for v in column.to_pylist()]


out = {
    "Count": result.num_rows,
    "Nulls": {n: result.column(n).null_count for n in result.column_names},
    "Sums": {n: total(n, None) for n in scan["Sum"] or ()},
    "Groups": [],
    "Rows": [],
}
if scan["GroupBy"]:
    members = collections.defaultdict(list)
    for i, key in enumerate(group(scan["GroupBy"])):
        members[json.dumps(key)].append(i)
    for key, rows in members.items():
        part = result.take(pa.array(rows))
        out["Groups"].append(
            {
                "Key": json.loads(key),
                "Count": len(rows),
                "Sums": {n: cell(pc.sum(part.column(n)).as_py()) for n in scan["Sum"] or ()},
            }
        )
if scan["Rows"]:
    columns = [c.to_pylist() for c in result.columns]
    out["Rows"] = [[cell(v) for v in row] for row in zip(*columns)]
answer(out)
