# Runs statements by DuckDB on a REST catalog, as another writer would; lk is the
# catalog.
con = duckdb_on(ask["S3"])
con.execute("ATTACH '' AS lk (TYPE ICEBERG, ENDPOINT '%s', AUTHORIZATION_TYPE 'none')" % ask["URI"])
for statement in ask["Statements"]:
    con.execute(statement)
answer(len(ask["Statements"]))
