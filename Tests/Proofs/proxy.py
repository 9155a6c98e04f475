"""20 clients save and fetch through a proxy that loses, delays, duplicates, cuts and reorders requests and answers.

Every save that was acknowledged is in the log once, and all clients end with the same records as one that begins anew
without the proxy.

Usage: proxy.py PROGRAM [SECONDS [SEED]]
"""

import collections
import http.client
import json
import random
import socket
import socketserver
import sys
import threading
import time
import uuid

from served import Client, Failure, Server, expect, prove

CLIENTS = 20
ZONE = {"zoneName": "Notes"}
FAULTS = ["lost", "delayed", "duplicated", "request cut", "answer cut", "reordered"]


class Proxy:
    """Passes HTTP requests on, one connection for each, and has a fault for two of five."""

    def __init__(self, port, seed):
        self.upstream, self.chance, self.lock = port, random.Random(seed), threading.Lock()
        self.counts = collections.Counter()
        # Set when a request was passed on: a held one follows it.
        self.passed = threading.Condition()
        self.passed_count = 0
        proxy = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                while request := proxy.read_request(self.rfile):
                    if not proxy.serve(request, self.connection):
                        return

        self.listener = socketserver.ThreadingTCPServer(("localhost", 0), Handler)
        self.listener.daemon_threads = True
        self.port = self.listener.server_address[1]
        threading.Thread(target=self.listener.serve_forever, daemon=True).start()

    def read_request(self, stream):
        """The head and the body of the next request; `None` at the end of the connection."""
        head = b""
        try:
            while not head.endswith(b"\r\n\r\n"):
                line = stream.readline()
                if not line:
                    return None
                head += line
            length = 0
            for line in head.split(b"\r\n"):
                name, _, value = line.partition(b":")
                if name.lower() == b"content-length":
                    length = int(value)
            return head, stream.read(length)
        except OSError:
            return None

    def send(self, request, byte_count=None):
        """Sends a request, or its beginning alone, and returns the answer."""
        head, body = request
        line, rest = head.split(b"\r\n", 1)
        text = line + b"\r\nConnection: close\r\n" + rest + body
        with socket.create_connection(("localhost", self.upstream), timeout=60) as server:
            server.sendall(text if byte_count is None else text[:byte_count])
            if byte_count is not None:
                return b""
            answer = b""
            while piece := server.recv(65536):
                answer += piece
        with self.passed:
            self.passed_count += 1
            self.passed.notify_all()
        return answer

    def serve(self, request, client):
        """Answers a request; false if the connection ends without an answer."""
        with self.lock:
            fault = self.chance.choice(FAULTS) if self.chance.random() < 0.4 else None
            part = self.chance.random()
        self.counts[fault or "undisturbed"] += 1
        size = len(request[0]) + len(request[1])
        if fault == "lost":
            return False
        if fault == "request cut":
            self.send(request, int(size * part))
            return False
        if fault == "delayed":
            time.sleep(part / 5)
        if fault == "reordered":
            with self.passed:
                seen = self.passed_count
                self.passed.wait_for(lambda: self.passed_count > seen, timeout=0.5)
        answer = self.send(request)
        if fault == "duplicated":
            # The client gets the answer to the second one.
            answer = self.send(request)
        if fault == "answer cut":
            answer = answer[: int(len(answer) * part)]
        try:
            client.sendall(answer)
        except OSError:
            pass
        return False  # The answer says that the connection closes.


class Device:
    """One client: what it saved with success, and what it learned of the zone."""

    def __init__(self, number):
        self.number, self.count = number, 0
        # The number of acknowledged saves of each record.
        self.saves = collections.Counter()
        self.token, self.records, self.counter_tag = None, {}, None

    def ask(self, client, operation, body, headers={}):
        """Asks until there is an answer."""
        while True:
            path = f"/database/1/iCloud.tidemark/development/private/{operation}?ckAPIToken={client.server.token}&ckWebAuthToken={client.web}"
            try:
                status, _, text = client.request("POST", path, json.dumps(body), {"Content-Type": "application/json"} | headers)
                return status, json.loads(text)
            except (OSError, http.client.HTTPException, ValueError):
                client.close()

    def modify(self, client, kind, record):
        # The id stays the same over all attempts.
        request = {"X-Tidemark-Request-ID": str(uuid.uuid4())}
        body = {"zoneID": ZONE, "operations": [{"operationType": kind, "record": record}]}
        status, answer = self.ask(client, "records/modify", body, request)
        name = record["recordName"]
        expect(status == 200 and "recordChangeTag" in answer["records"][0], f"{kind} {name}: {status} {answer}")
        self.saves[name] += 1
        return answer["records"][0]["recordChangeTag"]

    def work(self, client, until):
        while time.monotonic() < until:
            self.count += 1
            fields = {"count": {"value": self.count}}
            note = {"recordType": "Note", "fields": fields}
            self.modify(client, "create", note | {"recordName": f"d{self.number}-{self.count}"})
            # The same record again and again: a save that is done twice would conflict with itself.
            counter = note | {"recordName": f"counter{self.number}"}
            if self.counter_tag:
                self.counter_tag = self.modify(client, "update", counter | {"recordChangeTag": self.counter_tag})
            else:
                self.counter_tag = self.modify(client, "create", counter)
            if self.count % 3 == 0:
                self.fetch(client)

    def fetch(self, client):
        """Takes all changes since the last time."""
        while True:
            question = {"zoneID": ZONE} | ({"syncToken": self.token} if self.token else {})
            status, answer = self.ask(client, "changes/zone", {"zones": [question]})
            expect(status == 200 and "records" in answer["zones"][0], f"a delta: {status} {answer}")
            page = answer["zones"][0]
            for record in page["records"]:
                self.records[record["recordName"]] = record["recordChangeTag"]
            self.token = page["syncToken"]
            if not page.get("moreComing"):
                return


class Through:
    """A server as it is reached through a proxy."""

    def __init__(self, server, proxy):
        self.token, self.port = server.token, proxy.port


def saves_in_log(server):
    """The number of events of each record, from the log."""
    counts = collections.Counter()
    for line in server.run("log", "dump", server.store).splitlines():
        event = json.loads(line)
        if event.get("recordType") == "Note" and event.get("event") == "recordSaved":
            counts[event["recordName"]] += 1
    return counts


def proof(program, folder):
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 30
    seed = int(sys.argv[3]) if len(sys.argv) > 3 else random.randrange(10_000)
    server = Server(program, folder / "store.tide")
    try:
        web = server.sign_in()
        Client(server, web).ask("zones/modify", {"operations": [{"operationType": "create", "zone": {"zoneID": ZONE}}]})
        proxy = Proxy(server.port, seed)
        devices, problems = [Device(number) for number in range(CLIENTS)], []

        def run(device):
            try:
                device.work(Client(Through(server, proxy), web, timeout=30), time.monotonic() + seconds)
            except Failure as failure:
                problems.append(failure)

        threads = [threading.Thread(target=run, args=(device,), daemon=True) for device in devices]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(seconds + 120)
            expect(not thread.is_alive(), f"seed {seed}: a client waits for ever")
        expect(not problems, f"seed {seed}: {problems[:3]}")
        fresh = Device(-1)
        fresh.fetch(Client(server, web))
        for device in devices:
            device.fetch(Client(Through(server, proxy), web))
            expect(device.records == fresh.records, f"seed {seed}: device {device.number} has other records")
        server.end()
    finally:
        server.kill()
    server.expect_sound()
    acknowledged = sum((device.saves for device in devices), collections.Counter())
    found = saves_in_log(server)
    wrong = {name: (count, found[name]) for name, count in acknowledged.items() if found[name] != count}
    expect(not wrong, f"seed {seed}: acknowledged and in the log: {dict(list(wrong.items())[:10])}")
    expect(found.keys() == acknowledged.keys(), f"seed {seed}: in the log alone: {list(found.keys() - acknowledged.keys())[:10]}")
    for fault in FAULTS:
        expect(proxy.counts[fault] > 0, f"seed {seed}: the proxy had no fault {fault!r}")
    faults = ", ".join(f"{count} {fault}" for fault, count in proxy.counts.most_common())
    print(
        f"  seed {seed}: {acknowledged.total()} saves of {CLIENTS} clients acknowledged, each in the log once; all clients "
        f"hold the same; requests: {faults}"
    )


prove(proof)
