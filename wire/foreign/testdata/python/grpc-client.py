"""A client of Debian's python3-grpcio, with what protoc made of our .proto files.

Its argument is JSON: the port, and the folder with the modules. It prints what
came of each call, as JSON.
"""

import base64
import json
import sys
import threading

import grpc

args = json.loads(sys.argv[1])
sys.path.insert(0, args["modules"])

from everywire import arith_pb2, foreign_pb2, wide_pb2  # noqa: E402
from everywire.io import grpc_pb2 as kv_pb2  # noqa: E402
from google.protobuf import json_format, struct_pb2  # noqa: E402

channel = grpc.insecure_channel("127.0.0.1:%d" % args["port"])
results = {}


def unary(path, out):
    """What generated stubs do for a method with one request and one reply."""
    return channel.unary_unary(path, lambda m: m.SerializeToString(), out.FromString)


def details(error):
    """The values of the error's details, which are in its trailers."""
    for key, value in error.trailing_metadata():
        if key == "grpc-status-details-bin":
            return base64.b64encode(value).decode()
    return ""


# The patience of calls that must succeed.
WAIT = 60

arith = unary("/arith.Arith/Sum", arith_pb2.SumReply)
results["sum"] = arith(arith_pb2.SumRequest(numbers=[20, 21]), timeout=WAIT).sum
results["large sum"] = str(arith(arith_pb2.SumRequest(numbers=[2**63 - 2, 1]), timeout=WAIT).sum)

echo = unary("/echo.Echo/Echo", struct_pb2.Value)
document = struct_pb2.Value()
json_format.Parse('{"a": [1, "x", null, {"b": true}]}', document)
results["echo"] = json_format.MessageToDict(echo(document, timeout=WAIT))

create = unary("/io.grpc.KeyValueService/Create", kv_pb2.CreateResponse)
retrieve = unary("/io.grpc.KeyValueService/Retrieve", kv_pb2.RetrieveResponse)
create(kv_pb2.CreateRequest(key=b"python", value=b"\x00\xff" * 1000), timeout=WAIT)
results["kv"] = retrieve(kv_pb2.RetrieveRequest(key=b"python"), timeout=WAIT).value == b"\x00\xff" * 1000
try:
    retrieve(kv_pb2.RetrieveRequest(key=b"none"), timeout=WAIT)
except grpc.RpcError as error:
    results["not found"] = [error.code().name, error.details()]

try:
    unary("/peer.Peer/Fail", foreign_pb2.empty)(foreign_pb2.failure(code=5, message="no such thing: ü"), timeout=WAIT)
except grpc.RpcError as error:
    results["fail"] = [error.code().name, error.details(), details(error)]

reply, call = unary("/peer.Peer/Tell", foreign_pb2.text).with_call(
    foreign_pb2.empty(), timeout=WAIT, metadata=[("who", "python"), ("raw-bin", b"\x00\xff")])
results["metadata"] = [
    reply.text,
    dict(call.initial_metadata()).get("heard"),
    dict(call.trailing_metadata()).get("bytes-bin", b"").hex(),
]

try:
    unary("/peer.Peer/Block", foreign_pb2.empty)(foreign_pb2.empty(), timeout=0.2)
except grpc.RpcError as error:
    results["deadline"] = error.code().name

blocked = unary("/peer.Peer/Block", foreign_pb2.empty).future(foreign_pb2.empty(), timeout=WAIT)
unary("/peer.Peer/Began", foreign_pb2.empty)(foreign_pb2.empty(), timeout=WAIT)
blocked.cancel()
results["cancel"] = blocked.cancelled()

count = channel.unary_stream("/peer.Peer/Count", lambda m: m.SerializeToString(), foreign_pb2.number.FromString)
results["server stream"] = [n.value for n in count(foreign_pb2.number(value=5), timeout=WAIT)]
add = channel.stream_unary("/peer.Peer/Add", lambda m: m.SerializeToString(), foreign_pb2.number.FromString)
results["client stream"] = add((foreign_pb2.number(value=n) for n in range(1, 11)), timeout=WAIT).value

# Each message is sent when the one before it has come back.
turn = threading.Semaphore(1)


def numbers():
    for n in (1, 2, 3):
        turn.acquire()
        yield foreign_pb2.number(value=n)


doubled = []
double = channel.stream_stream("/peer.Peer/Double", lambda m: m.SerializeToString(), foreign_pb2.number.FromString)
for n in double(numbers(), timeout=WAIT):
    doubled.append(n.value)
    turn.release()
results["both streams"] = doubled

# The same bytes: what was sent is made here again. Entries of maps may have any
# order, and so the maps have one.
raw = base64.b64decode(args["wide"])
wide = wide_pb2.Wide.FromString(raw)
results["same bytes"] = wide.SerializeToString(deterministic=True) == raw
back = unary("/peer.Peer/Wide", wide_pb2.Wide)(wide, timeout=WAIT)
results["wide back"] = back == wide

json.dump(results, sys.stdout)
