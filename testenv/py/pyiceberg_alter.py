# Alters one row of those that a filter finds, as another writer would: by
# PyIceberg, which writes their files anew, or appends.
import pyarrow as pa
from pyiceberg.catalog.sql import SqlCatalog

catalog = SqlCatalog(
    ask["Name"],
    uri="sqlite:///" + ask["DB"],
    warehouse=ask["Warehouse"],
    init_catalog_tables="false",
    **s3_properties(ask["S3"]),
)
table = catalog.load_table(ask["Table"])
rows = table.scan(row_filter=ask["Filter"]).to_arrow()
first, rest = rows.slice(0, 1), rows.slice(1)
at = rows.schema.get_field_index(ask["Column"])
other = first.set_column(at, rows.schema.field(at), pa.array([ask["Value"]], rows.schema.field(at).type))
if ask["How"] == "change":
    table.overwrite(pa.concat_tables([other, rest]), overwrite_filter=ask["Filter"])
elif ask["How"] == "remove":
    table.overwrite(rest, overwrite_filter=ask["Filter"])
elif ask["How"] == "add":
    table.append(other)
elif ask["How"] == "double":
    table.append(first)
answer(str(table.refresh().metadata.current_snapshot_id))
