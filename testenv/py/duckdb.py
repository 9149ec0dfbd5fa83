# DuckDB on a store, with its extensions loaded from the packages that carry
# them: nothing is fetched while a test runs.
def duckdb_on(s3):
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
    if s3:
        scheme, _, host = s3["Endpoint"].partition("://")
        con.execute(
            "CREATE SECRET lake (TYPE s3, KEY_ID '%s', SECRET '%s', REGION '%s', ENDPOINT '%s', URL_STYLE 'path', USE_SSL %s)"
            % (s3["AccessKey"], s3["SecretKey"], s3["Region"], host, "true" if scheme == "https" else "false")
        )
    return con
