# Runs statements by DuckDB on a REST catalog, as another writer would; lk is the
# catalog. Its extensions are loaded from the packages that carry them.
import importlib.util
import os

import duckdb

con = duckdb.connect(
    config={
        "autoinstall_known_extensions": "false",
        "autoload_known_extensions": "false",
    }
)
for name in ("httpfs", "avro", "iceberg"):
    package = importlib.util.find_spec("duckdb_extension_" + name)
    folder = os.path.join(package.submodule_search_locations[0], "extensions")
    (version,) = os.listdir(folder)
    path = os.path.join(folder, version, name + ".duckdb_extension")
    con.execute("LOAD '%s'" % path)
con.execute("SET TimeZone='UTC'")
s3 = ask["S3"]
if s3:
    scheme, _, host = s3["Endpoint"].partition("://")
    con.execute(
        "CREATE SECRET lake (TYPE s3, KEY_ID '%s', SECRET '%s', REGION '%s', ENDPOINT '%s', URL_STYLE 'path', USE_SSL %s)"
        % (s3["AccessKey"], s3["SecretKey"], s3["Region"], host, "true" if scheme == "https" else "false")
    )
con.execute("ATTACH '' AS lk (TYPE ICEBERG, ENDPOINT '%s', AUTHORIZATION_TYPE 'none')" % ask["URI"])
for statement in ask["Statements"]:
    con.execute(statement)
answer(len(ask["Statements"]))
