"""Reads a Tidemark store with nothing but the documents under Docs/formats.

    python3 Docs/Examples/FormatReader STORE            its events, one JSON object a line
    python3 Docs/Examples/FormatReader STORE --log      the same as the log has them, in hexadecimal
    python3 Docs/Examples/FormatReader STORE --journal  the entries of its journal
    python3 Docs/Examples/FormatReader STORE --assets   its assets, each with whether it is sound

A summary follows on standard error. Status 1 says that something is damaged, and what.
"""

import hashlib
import json
import os
import sys

try:
    from events import Events
    from journal import entries
    from primitives import Damaged
    from segments import Log
except ModuleNotFoundError as error:
    sys.exit(f"The module {error.name} is missing. Install python3-lz4 and python3-xxhash.")


def raw(store):
    """The events of a log, payloads and envelopes as they are."""
    for event in Log(store).events():
        found = {"position": event.position, "zone": event.zone, "payload": event.payload.hex()}
        yield {**found, **event.commit._asdict(), "envelope": event.commit.envelope.hex()}


def assets(store):
    """The blobs of a store (Docs/formats/assets.md)."""
    root = os.path.join(store, "assets")
    for database in sorted(os.listdir(root)) if os.path.isdir(root) else []:
        if database == "incoming":
            continue
        for name in sorted(os.listdir(os.path.join(root, database))):
            digest = hashlib.sha256()
            with open(os.path.join(root, database, name), "rb") as file:
                while piece := file.read(1 << 20):
                    digest.update(piece)
                size = file.tell()
            yield {"database": database, "blob": name, "size": size, "isSound": digest.hexdigest() == name}


def main(arguments):
    options = {argument for argument in arguments if argument.startswith("--")}
    paths = [argument for argument in arguments if argument not in options]
    if len(paths) != 1 or not options <= {"--log", "--journal", "--assets"} or len(options) > 1:
        print(__doc__, file=sys.stderr)
        return 64
    store, count = paths[0], 0
    try:
        if "--journal" in options:
            lines = entries(store)
        elif "--assets" in options:
            lines = assets(store)
        elif "--log" in options:
            lines = raw(store)
        else:
            lines = Events(Log(store))
        for line in lines:
            print(json.dumps(line, ensure_ascii=False, separators=(",", ":")))
            count += 1
    except Damaged as damage:
        print(f"Damaged: {damage}", file=sys.stderr)
        return 1
    except BrokenPipeError:
        # Whoever reads has had enough.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    print(f"{count} lines", file=sys.stderr)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
