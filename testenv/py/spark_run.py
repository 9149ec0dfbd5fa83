# Runs statements in Spark: one session for all tests of a binary, with a
# catalog more for each that is asked about.
import sys

if ask["Spark"] not in sys.path:
    sys.path.insert(0, ask["Spark"])
from pyspark.sql import SparkSession
from pyspark.sql.types import ArrayType, DecimalType, StructType, TimestampType


def typed(v, kind):
    # Spark's instants come without a zone, which is that of the process: UTC.
    if v is None:
        return None
    if isinstance(kind, TimestampType):
        return v.replace(tzinfo=datetime.timezone.utc)
    if isinstance(kind, DecimalType):
        # Small ones come with more places than the column has.
        exact = v.quantize(decimal.Decimal(1).scaleb(-kind.scale), context=decimal.Context(prec=38))
        assert exact == v, "%s is not of the type %s" % (v, kind)
        return exact
    if isinstance(kind, ArrayType):
        return [typed(x, kind.elementType) for x in v]
    if isinstance(kind, StructType):
        return {f.name: typed(v[f.name], f.dataType) for f in kind}
    return v


spark = SparkSession.builder.getOrCreate()
for key, value in ask["Settings"].items():
    spark.conf.set("spark.sql.catalog." + ask["Catalog"] + key, value)
answers = []
for statement in ask["Statements"]:
    frame = spark.sql(statement.replace("{catalog}", ask["Catalog"]))
    answers.append([[cell(typed(v, f.dataType)) for v, f in zip(row, frame.schema)] for row in frame.collect()])
answer(answers)
