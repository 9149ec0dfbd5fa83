# Reads a table by PyIceberg from its metadata file, once for each scan.
import re

import pyarrow as pa
import pyarrow.compute as pc
from pyiceberg.table import ALWAYS_TRUE, StaticTable


def summand(result, name):
    null = re.fullmatch(r"null\((.*)\)", name)
    if null:
        return pc.is_null(result.column(null.group(1))).cast(pa.int64())
    return result.column(name)


def key(result, name):
    day = re.fullmatch(r"day\((.*)\)", name)
    return result.column(day.group(1)).cast(pa.date32()) if day else result.column(name)


def groups(result, by, sums):
    # Names of the columns are numbers: a summand may well be the key.
    table = pa.table([key(result, by)] + [summand(result, n) for n in sums], [str(i) for i in range(len(sums) + 1)])
    wanted = [([], "count_all")] + [(str(i + 1), "sum") for i in range(len(sums))]
    for row in table.group_by("0").aggregate(wanted).to_pylist():
        yield {
            "Key": cell(row["0"]),
            "Count": row["count_all"],
            "Sums": {n: cell(row[str(i + 1) + "_sum"]) for i, n in enumerate(sums)},
        }


def read(table, scan):
    result = table.scan(
        row_filter=scan["Filter"] or ALWAYS_TRUE,
        selected_fields=tuple(scan["Columns"] or ("*",)),
        snapshot_id=scan["SnapshotID"] or None,
    ).to_arrow()
    sums = scan["Sum"] or ()
    out = {
        "Count": result.num_rows,
        "Nulls": {n: result.column(n).null_count for n in result.column_names},
        "Sums": {n: cell(pc.sum(summand(result, n)).as_py()) for n in sums},
        "Groups": list(groups(result, scan["GroupBy"], sums)) if scan["GroupBy"] else [],
        "Rows": [],
    }
    if scan["Rows"]:
        columns = [c.to_pylist() for c in result.columns]
        out["Rows"] = [[cell(v) for v in row] for row in zip(*columns)]
    return out


table = StaticTable.from_metadata(ask["Metadata"], properties=s3_properties(ask["S3"]))
answer([read(table, scan) for scan in ask["Scans"]])
