# Answers queries by DuckDB on a table's metadata file.
con = duckdb_on(ask["S3"])
source = "iceberg_scan('%s')" % ask["Metadata"].replace("'", "''")
answers = [con.execute(query.replace("{table}", source)).fetchall() for query in ask["Queries"]]
answer([[[cell(v) for v in row] for row in rows] for rows in answers])
