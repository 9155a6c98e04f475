"""The bytes of a record (Docs/formats/record.md), as the JSON of the change stream."""

import base64
import struct
from collections import namedtuple

from primitives import Damaged, Reader, text

Record = namedtuple("Record", "name type created created_by created_on modified modified_by modified_on parent share fields")
TYPES = ["removed", "STRING", "INT64", "DOUBLE", "BYTES", "TIMESTAMP", "LOCATION", "REFERENCE", "ASSETID"]
ACTIONS = ["NONE", "DELETE_SELF", "VALIDATE"]
LIST = 16
LOCATION_PARTS = ["horizontalAccuracy", "verticalAccuracy", "altitude", "speed", "course", "timestamp"]


def read_record(data, what):
    reader = Reader(data, what)
    form, flags, name, kind, creator = reader.number("B"), reader.number("B"), *struct.unpack("<HHH", reader.take(6))
    if form != 1 or flags != 0:
        raise Damaged(f"{what}: a record of format {form}, flags {flags}")
    created, modified = struct.unpack("<qq", reader.take(16))
    lengths = [name, kind, creator, *struct.unpack("<HHHHH", reader.take(10))]
    texts = [text(reader.take(length), what) for length in lengths]
    count = reader.number("H")
    rows = [struct.unpack("<IBBBB", reader.take(8)) for _ in range(count)]
    data, begin, fields = reader.rest(), 0, {}
    for end, name_length, kind, flags, stamp_length in rows:
        datum = Reader(data[begin:end], what)
        field = text(datum.take(name_length), what)
        datum.take(stamp_length)
        if kind:
            fields[field] = json_value(kind, datum.rest(), bool(flags & 1), f"{what}: field {field}")
        begin = end
    if begin != len(data):
        raise Damaged(f"{what}: {len(data) - begin} bytes follow the fields")
    return Record(texts[0], texts[1], created, texts[2], texts[3], modified, texts[4], texts[5], texts[6], texts[7], fields)


def json_value(kind, data, is_encrypted, what):
    """A value in its shortest form in the change stream."""
    is_list, element = kind > LIST, kind - LIST if kind > LIST else kind
    if not 1 <= element < len(TYPES):
        raise Damaged(f"{what}: a value of type {kind}")
    if is_list:
        value = [single(element, item, what) for item in elements(element, data, what)]
    else:
        value = single(element, data, what)
    is_plain = TYPES[element] in ("STRING", "INT64") and not is_encrypted and value != []
    if is_plain:
        return value
    typed = {"value": value, "type": TYPES[element] + ("_LIST" if is_list else "")}
    if is_encrypted:
        typed["isEncrypted"] = True
    return typed


def elements(kind, data, what):
    if TYPES[kind] in ("INT64", "DOUBLE", "TIMESTAMP"):
        return [data[place : place + 8] for place in range(0, len(data), 8)]
    reader, items = Reader(data, what), []
    while reader:
        items.append(reader.take(reader.number("I")))
    return items


def single(kind, data, what):
    reader = Reader(data, what)
    name = TYPES[kind]
    if name == "STRING":
        return text(reader.rest(), what)
    if name in ("INT64", "TIMESTAMP"):
        return reader.number("q")
    if name == "DOUBLE":
        return reader.number("d")
    if name == "BYTES":
        return base64.b64encode(reader.rest()).decode()
    if name == "LOCATION":
        present = reader.number("B")
        value = {"latitude": reader.number("d"), "longitude": reader.number("d")}
        for bit, part in enumerate(LOCATION_PARTS):
            if present >> bit & 1:
                value[part] = reader.number("q" if part == "timestamp" else "d")
        return value
    if name == "REFERENCE":
        action, zone, owner = ACTIONS[reader.number("B")], reader.number("H"), reader.number("H")
        zone, owner = text(reader.take(zone), what), text(reader.take(owner), what)
        value = {"recordName": text(reader.rest(), what)}
        if action != "NONE":
            value["action"] = action
        if zone:
            value["zoneID"] = {"zoneName": zone, "ownerRecordName": owner}
        return value
    checksum, size, present = reader.take(32), reader.number("Q"), reader.number("B")
    value = {"fileChecksum": base64.b64encode(checksum).decode(), "size": size}
    for bit, part in enumerate(["referenceChecksum", "wrappingKey"]):
        if present >> bit & 1:
            value[part] = base64.b64encode(reader.take(reader.number("H"))).decode()
    return value
