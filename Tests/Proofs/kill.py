"""The server is killed (-9) at random 200 times while 20 clients save and fetch.

Every save that was acknowledged is there once, and every client, which kept its sync token over all kills, ends with
the same records as one that begins anew.

Usage: kill.py PROGRAM [ROUNDS]
"""

import http.client
import random
import sys
import threading
import time

from served import Client, Failure, Server, expect, prove

CLIENTS = 20
ZONE = {"zoneName": "Notes"}


class Device:
    """One client: what it saved with success, and what it learned of the zone."""

    def __init__(self, number):
        self.number = number
        self.count = 0
        self.acknowledged = []
        self.token = None
        self.records = {}

    def save(self, client):
        self.count += 1
        name = f"d{self.number}-{self.count}"
        record = {"recordName": name, "recordType": "Note", "fields": {"count": {"value": self.count}}}
        status, answer = client.ask(
            "records/modify", {"zoneID": ZONE, "operations": [{"operationType": "create", "record": record}]}
        )
        expect(status == 200 and "recordChangeTag" in answer["records"][0], f"{name}: {status} {answer}")
        self.acknowledged.append(name)

    def fetch(self, client):
        """Takes all changes since the last time."""
        while True:
            question = {"zoneID": ZONE} | ({"syncToken": self.token} if self.token else {})
            status, answer = client.ask("changes/zone", {"zones": [question]})
            expect(status == 200 and "records" in answer["zones"][0], f"a delta: {status} {answer}")
            page = answer["zones"][0]
            names = [record["recordName"] for record in page["records"]]
            expect(len(set(names)) == len(names), f"a delta has a record twice: {names}")
            for record in page["records"]:
                self.records[record["recordName"]] = record["recordChangeTag"]
            self.token = page["syncToken"]
            if not page.get("moreComing"):
                return

    def work(self, server, web, problems):
        client = Client(server, web, timeout=30)
        try:
            while True:
                self.save(client)
                if self.count % 4 == self.number % 4:
                    self.fetch(client)
        except Failure as failure:
            problems.append(failure)
        except (OSError, ValueError, http.client.HTTPException):
            pass  # The server was killed.


def proof(program, folder):
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    seed = random.randrange(10_000)
    chance = random.Random(seed)
    store = folder / "store.tide"
    devices = [Device(number) for number in range(CLIENTS)]
    problems, web = [], None
    for round_ in range(rounds):
        server = Server(program, store)
        try:
            if web is None:
                web = server.sign_in()
                Client(server, web).ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]})
            threads = [
                threading.Thread(target=device.work, args=(server, web, problems), daemon=True) for device in devices
            ]
            for thread in threads:
                thread.start()
            time.sleep(0.1 + 0.6 * chance.random())
        finally:
            server.kill()
        for thread in threads:
            thread.join(60)
            expect(not thread.is_alive(), f"seed {seed}, round {round_}: a client waits for ever")
        expect(not problems, f"seed {seed}, round {round_}: {problems[:3]}")
    server = Server(program, store)
    try:
        fresh = Device(-1)
        fresh.fetch(Client(server, web))
        acknowledged = {name for device in devices for name in device.acknowledged}
        lost = acknowledged - fresh.records.keys()
        expect(not lost, f"seed {seed}: acknowledged and lost: {sorted(lost)[:10]}")
        for device in devices:
            device.fetch(Client(server, web))
            expect(device.records == fresh.records, f"seed {seed}: device {device.number} has other records")
        server.end()
    finally:
        server.kill()
    server.expect_sound()
    expect(len(acknowledged) > rounds, f"only {len(acknowledged)} saves were acknowledged")
    print(
        f"  seed {seed}: killed {rounds} times, {len(acknowledged)} saves of {CLIENTS} clients acknowledged and there, "
        f"{len(fresh.records) - len(acknowledged)} more that were not acknowledged; all clients hold the same"
    )


prove(proof)
