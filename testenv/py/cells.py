# Cells as JSON, in the form that text.go reads: null, "s:text", "f:float",
# "i:instant", "w:wall clock", "v:as it is", a list of cells, or a list of
# {"name": cell} for a struct.
import datetime
import decimal
import json
import uuid


def cell(v):
    if v is None:
        return None
    if isinstance(v, bool):
        return "v:true" if v else "v:false"
    if isinstance(v, str):
        return "s:" + v
    if isinstance(v, float):
        return "f:" + repr(v)
    if isinstance(v, decimal.Decimal):
        return "v:" + format(v, "f")
    if isinstance(v, datetime.datetime):
        return ("i:" if v.tzinfo else "w:") + v.isoformat()
    if isinstance(v, (datetime.date, datetime.time)):
        return "v:" + v.isoformat()
    if isinstance(v, (bytes, bytearray)):
        return "v:" + v.hex()
    if isinstance(v, uuid.UUID):
        return "v:" + str(v)
    if isinstance(v, dict):
        return [{k: cell(x)} for k, x in v.items()]
    if isinstance(v, (list, tuple)):
        return [cell(x) for x in v]
    return "v:" + str(v)


def s3_properties(s3):
    if not s3:
        return {}
    return {
        "s3.endpoint": s3["Endpoint"],
        "s3.access-key-id": s3["AccessKey"],
        "s3.secret-access-key": s3["SecretKey"],
        "s3.region": s3["Region"],
    }
