# Runs statements that write files by PyArrow.
import datetime
import decimal

import pyarrow as pa
import pyarrow.parquet as pq

exec(
    ask["Statements"],
    {"pa": pa, "pq": pq, "folder": ask["Dir"], "datetime": datetime, "decimal": decimal},
)
answer(0)
