"""What the payloads and envelopes of the log mean (Docs/formats/events.md)."""

from primitives import Damaged, Reader, text
from records import read_record

POLICIES = ["ifServerRecordUnchanged", "changedKeys", "allKeys", "replace", "merge", "replaceIfUnchanged"]
SCOPES = {1: "public", 2: "private", 3: "shared"}
STANDARD = ("private", "iCloud.tidemark", "development", "__defaultOwner__")
REASONS = ["deleted", "purged", "encryptedDataReset"]
DIGITS = "0123456789abcdefghijklmnopqrstuvwxyz"


class Events:
    """Makes of each event the object that `tidemark log dump` prints."""

    def __init__(self, log):
        self.log = log
        self.zones = {}

    def __iter__(self):
        return map(self.decoded, self.log.events())

    def decoded(self, event):
        reader = Reader(event.payload, f"event {event.position}")
        kind = reader.number("B")
        read = {
            1: self.saved, 2: self.deleted, 3: self.saved, 32: self.zone_created, 33: self.zone_deleted,
            34: self.tombstones_forgotten, 48: self.request_noted, 49: self.compaction_begun,
            64: self.audience_changed, 65: self.audience_changed,
        }.get(kind)
        if read is None:
            raise Damaged(f"{reader.what}: it is of kind {kind}")
        name, members = read(event, kind, reader)
        return {"sequence": event.position, "event": name, **self.zone(event.zone), **members,
                "commit": commit(event.commit, reader.what)}

    def zone(self, key):
        if key == 0:
            return {}
        if key not in self.zones:
            return {"zone": None, "zoneKey": key}
        (scope, container, environment, owner), name = self.zones[key]
        if (scope, container, environment, owner) == STANDARD:
            return {"zone": name}
        return {"zone": name, "container": container, "environment": environment, "database": scope, "owner": owner}

    def saved(self, event, kind, reader):
        members, flags, more = self.record_members(reader)
        body = read_record(reader.rest(), reader.what)
        found = {"recordName": body.name, "recordType": body.type, **members}
        if kind == 1:
            found["policy"] = POLICIES[flags & 7]
        if more & 4:
            found["isRecreation"] = True
        found["recordChangeTag"] = self.tag(event.position)
        found["fields"] = body.fields
        return ("recordSaved" if kind == 1 else "recordTouched"), found

    def deleted(self, event, kind, reader):
        members, _, _ = self.record_members(reader)
        name = reader.string()
        return "recordDeleted", {"recordName": name, "recordType": text(reader.rest(), reader.what), **members}

    def record_members(self, reader):
        flags, _, more, previous = reader.number("B"), reader.number("B"), reader.number("B"), reader.number("Q")
        members = {"replaces": previous}
        if flags & 0x10:
            members["held"] = previous
        if flags & 0x20:
            members["held"] = reader.number("Q")
            reader.number("I")
        if flags & 0x80:
            reader.take(8 * reader.number("H"))
        if more & 1:
            reader.take(16)
        return members, flags, more

    def zone_created(self, event, kind, reader):
        reader.take(3)
        self.zones[event.position] = database(reader), reader.string()
        return "zoneCreated", {}

    def zone_deleted(self, event, kind, reader):
        return "zoneDeleted", {"reason": REASONS[reader.number("B")]}

    def tombstones_forgotten(self, event, kind, reader):
        reader.take(3)
        return "tombstonesForgotten", {"tombstones": reader.number("Q")}

    def request_noted(self, event, kind, reader):
        return "requestNoted", {}

    def compaction_begun(self, event, kind, reader):
        reader.take(3)
        return "compactionBegun", {name: reader.number("Q") for name in ("history", "tombstones", "requests")}

    def audience_changed(self, event, kind, reader):
        reader.take(3)
        audience, _, version = reader.number("Q"), reader.number("Q"), reader.number("Q")
        name = reader.string()
        found = {"recordName": name, "recordType": text(reader.rest(), reader.what), "audience": audience,
                 "version": version}
        return ("audienceEntered" if kind == 64 else "audienceLeft"), found

    def tag(self, position):
        return base36(position) + "-" + base36(self.log.incarnation(position) & 0xFFFFFFFF)


def database(reader):
    scope = SCOPES.get(reader.number("B"))
    if scope is None:
        raise Damaged(f"{reader.what}: a database of an unknown scope")
    container, environment, owner = reader.string(), reader.string(), reader.string()
    return scope, container, environment, owner


def base36(number):
    digits = ""
    while True:
        number, digit = divmod(number, 36)
        digits = DIGITS[digit] + digits
        if number == 0:
            return digits


def commit(commit, what):
    members = {"first": commit.first, "events": commit.events, "time": commit.time, "received": commit.received}
    reader = Reader(commit.envelope, f"{what}, envelope")
    version, flags = reader.number("B"), reader.number("B")
    if version not in (1, 2):
        raise Damaged(f"{reader.what}: it is of version {version}")
    request = None
    if flags & 1:
        reader.take(24)
        if version == 2:
            low, high, occurrence = reader.number("Q"), reader.number("Q"), reader.varint()
            request = f"line-{base36(high)}-{base36(low)}-{occurrence}"
        else:
            request = reader.string()
    if flags & 0x80:
        reader.take(reader.varint())
    seen = reader.varint()
    for bit, name in ((0x10, "user"), (0x20, "device"), (0x40, "build")):
        if flags & bit:
            members[name] = reader.string()
    if request is not None:
        members["request"] = request
    if seen:
        members["seen"] = seen
    return members
