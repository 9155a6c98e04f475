"""The server is killed (-9) at random 200 times while 20 clients save, fetch and listen.

Every save that was acknowledged is there once, and every client, which kept its sync token over all kills, ends with
the same records as one that begins anew. Each client's stream, resumed after each kill by the id of its last event, has
told it of each record of the others once, and of none of its own. So have the couriers of two more clients, which do not
save; the position of a courier is stored after the answer, so a kill may let it repeat what came last. A client whose
stream or courier was reset fetches what it was not told of, and may be told of some of that later.

Usage: kill.py PROGRAM [ROUNDS [SEED]]
The seed is that of the times of the kills.
"""

import http.client
import json
import random
import socket
import sys
import threading
import time
import urllib.parse

from served import CONTAINER, Client, Failure, Server, expect, prove, wait_for

CLIENTS = 20
COURIERS = 2
ZONE = {"zoneName": "Notes"}


class Device:
    """One client: what it saved with success, and what it learned of the zone."""

    def __init__(self, number):
        self.number = number
        self.count = 0
        self.acknowledged = []
        self.token = None
        self.records = {}
        # What the stream or the courier told, and the id of the stream's last event.
        self.heard = set()
        self.resets = 0
        self.last_event = None
        # What was fetched after resets.
        self.fetched = set()
        # The path of the courier, and what it told again after a kill.
        self.courier, self.repeats = None, 0

    def missing(self, names):
        """The records of others that the client has not learned of."""
        own = f"d{self.number}-"
        return {name for name in names if not name.startswith(own)} - self.heard - self.fetched

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

    def listen(self, server, web, problems):
        """Reads the stream of notifications until it ends."""
        head = (
            f"GET /database/1/{CONTAINER}/development/private/changes/stream?ckAPIToken={server.token}"
            f"&ckWebAuthToken={web}&clientId=d{self.number} HTTP/1.1\r\nHost: localhost\r\n"
        )
        if self.last_event:
            head += f"Last-Event-ID: {self.last_event}\r\n"
        try:
            with socket.create_connection(("localhost", server.port), timeout=90) as connection:
                connection.sendall(f"{head}\r\n".encode())
                event = {}
                for line in connection.makefile("rb"):
                    name, _, value = line.decode().rstrip("\r\n").partition(": ")
                    if name in ("id", "event", "data"):
                        event[name] = value
                    elif "data" in event:
                        self.take(event, server, web)
                        event = {}
        except Failure as failure:
            problems.append(failure)
        except (OSError, http.client.HTTPException):
            pass  # The server was killed.

    def take(self, event, server, web):
        if event["event"] == "notification":
            name = json.loads(event["data"])["ck"]["qry"]["rid"]
            expect(name not in self.heard, f"device {self.number} was told of {name} twice")
            expect(not name.startswith(f"d{self.number}-"), f"device {self.number} was told of its own {name}")
            self.heard.add(name)
        elif event["event"] == "reset":
            # Notifications were dropped: a client fetches what there is.
            self.resets += 1
            self.catch_up(server, web)
        # After the event was taken: one that was cut off comes again.
        self.last_event = event["id"]

    def poll(self, server, web, problems):
        """Asks its courier for one notification after another."""
        client = Client(server, web, timeout=90)
        # What this server was asked for.
        told = set()
        try:
            while True:
                if self.courier is None:
                    credentials = f"ckAPIToken={server.token}&ckWebAuthToken={web}&clientId=c{self.number}"
                    status, _, text = client.request(
                        "POST", f"/device/1/{CONTAINER}/development/tokens/create?{credentials}",
                        '{"apnsEnvironment": "development"}', {"Content-Type": "application/json"},
                    )
                    expect(status == 200, f"tokens/create: {status} {text}")
                    courier = urllib.parse.urlsplit(json.loads(text)["webcourierURL"]).path
                    self.catch_up(server, web)
                    self.courier = courier
                status, _, text = client.request("GET", self.courier)
                if status == 403:
                    # Notifications were dropped.
                    self.resets += 1
                    self.courier = None
                elif text:
                    expect(status == 200, f"the courier: {status} {text}")
                    name = json.loads(text)["ck"]["qry"]["rid"]
                    expect(name not in told, f"courier {self.number} told of {name} twice")
                    self.repeats += name in self.heard
                    told.add(name)
                    self.heard.add(name)
        except Failure as failure:
            problems.append(failure)
        except (OSError, ValueError, http.client.HTTPException):
            pass  # The server was killed.

    def catch_up(self, server, web):
        """Fetches what there is, without the stream.

        The stream continues at a position before the fetch, so it may tell of some of these records too.
        """
        others = Device(-1)
        others.fetch(Client(server, web))
        self.fetched |= others.records.keys()

    def work(self, server, web, problems):
        client = Client(server, web, timeout=30, device=f"d{self.number}")
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
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10_000)
    print(f"  seed {seed}", flush=True)
    chance = random.Random(seed)
    store = folder / "store.tide"
    devices = [Device(number) for number in range(CLIENTS)]
    couriers = [Device(CLIENTS + number) for number in range(COURIERS)]
    problems, web = [], None
    for round_ in range(rounds):
        server = Server(program, store)
        try:
            if web is None:
                web = server.sign_in()
                Client(server, web).ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]})
                subscription = {
                    "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["create"],
                    "query": {"recordType": "Note", "filterBy": []},
                }
                operation = {"operationType": "create", "subscription": subscription}
                status, answer = Client(server, web).ask("subscriptions/modify", {"operations": [operation]})
                expect(status == 200, f"subscriptions/modify: {status} {answer}")
            threads = []
            for start, some in ((Device.listen, devices), (Device.poll, couriers), (Device.work, devices)):
                for device in some:
                    threads.append(threading.Thread(target=start, args=(device, server, web, problems), daemon=True))
                    threads[-1].start()
                # A stream that begins anew tells of nothing that was saved before.
                wait_for("the streams", lambda: problems or all(device.last_event for device in devices))
                wait_for("the couriers", lambda: start == Device.listen or problems or all(one.courier for one in couriers))
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
            threading.Thread(target=device.listen, args=(server, web, problems), daemon=True).start()
        for device in devices:
            wait_for(
                f"seed {seed}: news of device {device.number}, {len(device.missing(fresh.records))} missing",
                lambda: problems or not device.missing(fresh.records),
            )
        for courier in couriers:
            threading.Thread(target=courier.poll, args=(server, web, problems), daemon=True).start()
        for courier in couriers:
            wait_for(
                f"seed {seed}: news of courier {courier.number}, {len(courier.missing(fresh.records))} missing",
                lambda: problems or not courier.missing(fresh.records),
                600,
            )
            expect(courier.repeats <= rounds, f"seed {seed}: {courier.repeats} repeats after {rounds} kills")
        expect(not problems, f"seed {seed}: {problems[:3]}")
        server.end()
    finally:
        server.kill()
    server.expect_sound()
    expect(len(acknowledged) > rounds, f"only {len(acknowledged)} saves were acknowledged")
    print(
        f"  seed {seed}: killed {rounds} times, {len(acknowledged)} saves of {CLIENTS} clients acknowledged and there, "
        f"{len(fresh.records) - len(acknowledged)} more that were not acknowledged; all clients hold the same; each stream told of all, "
        f"{sum(len(device.heard) for device in devices)} in all, with {sum(device.resets for device in devices)} resets; "
        f"{COURIERS} couriers told of all, {sum(one.repeats for one in couriers)} again, with "
        f"{sum(one.resets for one in couriers)} resets"
    )


prove(proof)
