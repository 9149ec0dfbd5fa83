# Appends rows to a table as another writer would: by PyIceberg, through the
# catalog file that the code under test uses too.
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
schema = table.schema().as_arrow()


def value(v, kind):
    if v is None:
        return None
    if pa.types.is_timestamp(kind):
        at = datetime.datetime.fromisoformat(v)
        return at if kind.tz else at.replace(tzinfo=None)
    if pa.types.is_date(kind):
        return datetime.date.fromisoformat(v[:10])
    if pa.types.is_decimal(kind):
        return decimal.Decimal(str(v))
    return v


columns = [pa.array([value(r.get(f.name), f.type) for r in ask["Rows"]], f.type) for f in schema]
table.append(pa.Table.from_arrays(columns, schema=schema))
answer(str(table.refresh().metadata.current_snapshot_id))
