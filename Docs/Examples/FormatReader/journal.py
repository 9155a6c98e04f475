"""The journal beside the log (Docs/formats/journal.md)."""

import os
import struct

from events import database
from primitives import Damaged, Reader, hash64, zeros_up_to_multiple_of_8
from segments import HEADER, File

ENTRY_HEADER, MAXIMUM = 24, 1 << 20
CALLS = [
    None, "modifyRecords", "fetchRecords", "zoneChanges", "databaseChanges", "modifyZones", "zones", "query",
    "assets", "users", "shares", "subscriptions", "notifications",
]


def entries(store):
    folder = os.path.join(store, "journal")
    names = sorted((n for n in os.listdir(folder) if n.endswith(".jnl")), key=lambda n: (len(n), n)) if os.path.isdir(folder) else []
    for name in names:
        file = File(os.path.join(folder, name), 3)
        offset = HEADER
        while (found := next_entry(file, offset)) is not None:
            if found != offset:
                raise Damaged(f"{file.path}: nothing can be read from byte {offset} to {found}")
            content, lost, time = entry(file, found)
            yield {"time": time, **({"lost": lost} if lost else {}), **decoded(content, f"{file.path}, byte {found}")}
            offset = found + ENTRY_HEADER + len(content) + zeros_up_to_multiple_of_8(len(content))


def next_entry(file, offset):
    """Where the next sound entry begins; `None` at the end or before a torn tail."""
    for place in range(offset, file.length - ENTRY_HEADER + 1, 8):
        if entry(file, place) is not None:
            return place
    return None


def entry(file, offset):
    head = file.read(offset, ENTRY_HEADER)
    length, lost, check, time = struct.unpack("<IIQq", head)
    if length == 0 or length > MAXIMUM or offset + ENTRY_HEADER + length > file.length:
        return None
    content = file.read(offset + ENTRY_HEADER, length)
    seed = file.seed(offset) + struct.unpack_from("<Q", head)[0]
    return (content, lost, time) if hash64(head[16:] + content, seed) == check else None


def decoded(content, what):
    reader = Reader(content, what)
    kind = reader.number("B")
    if kind == 1:
        return {"entry": "began", "takesAll": reader.number("B") == 1}
    if kind == 2:
        return {"entry": "ended"}
    if kind == 3:
        asked = call(reader)
        count, omitted = reader.varint(), reader.varint()
        return {"entry": "refused", **asked, "refusals": [refusal(reader) for _ in range(count)], "omitted": omitted}
    if kind == 4:
        asked, flags, bound = call(reader), reader.number("B"), reader.number("Q")
        told = {"entry": "told", **asked, "more": bool(flags & 1), "through": bound, "changes": reader.varint()}
        told["gave"] = reader.take(reader.varint()).hex()
        if flags & 2:
            told["zone"] = zone(reader)
        return told
    raise Damaged(f"{what}: an entry of kind {kind}")


def call(reader):
    asked, flags = CALLS[reader.number("B")], reader.number("B")
    found = {"call": asked, "database": "/".join(database(reader))}
    for bit, name in ((1, "user"), (2, "device"), (4, "build"), (8, "request")):
        if flags & bit:
            found[name] = reader.string()
    if flags & 16:
        found["token"] = reader.take(reader.varint()).hex()
    return found


def zone(reader):
    owner, name = reader.string(), reader.string()
    return {"owner": owner, "zone": name}


def refusal(reader):
    about = reader.number("B")
    found = {}
    if about in (1, 2):
        found = zone(reader)
    if about in (1, 3):
        found["recordName" if about == 1 else "subscription"] = reader.string()
    found["error"] = reader.varint()
    found["message"] = reader.string()
    return found
