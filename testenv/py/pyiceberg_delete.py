# Deletes rows by a filter as another writer would: by PyIceberg, through the
# catalog file that the code under test uses too.
from pyiceberg.catalog.sql import SqlCatalog

catalog = SqlCatalog(
    ask["Name"],
    uri="sqlite:///" + ask["DB"],
    warehouse=ask["Warehouse"],
    init_catalog_tables="false",
    **s3_properties(ask["S3"]),
)
table = catalog.load_table(ask["Table"])
table.delete(ask["Filter"])
answer(str(table.refresh().metadata.current_snapshot_id))
