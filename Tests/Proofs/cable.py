"""The cable between a server and its listeners is pulled for a minute while others save.

Afterwards all catch up by themselves: devices that listen by stream and by courier hold the same records as one that
begins anew, the streams have told of each record once, and one `tidemark log tail --url` has printed each save once.

Usage: cable.py PROGRAM [SECONDS]
It needs Linux, and a network of its own as root: unshare --net python3 cable.py …
"""

import ctypes
import http.client
import json
import os
import subprocess
import sys
import threading
import time
import urllib.parse

from served import CONTAINER, Client, Server, expect, prove, wait_for

DEVICES = 4
ZONE = {"zoneName": "Notes"}
HERE, THERE = "10.213.78.1", "10.213.78.2"
# The server is heard at least every 25 seconds, by stream and by courier. A device that hears nothing for longer
# connects again.
SILENCE = 40
CATCH_UP = 90


class Cable:
    """A second network with one link to this one; it is gone with the process that holds it."""

    def __init__(self):
        self.holder = subprocess.Popen(["unshare", "--net", "sleep", "infinity"])
        try:
            self.connect(str(self.holder.pid))
        except BaseException:
            self.holder.kill()
            raise

    def connect(self, pid):
        own = os.readlink("/proc/self/ns/net")
        wait_for("the second network", lambda: os.readlink(f"/proc/{pid}/ns/net") != own)
        self.inside = ["nsenter", f"--net=/proc/{pid}/ns/net"]
        self.run("ip", "link", "set", "lo", "up")
        self.run("ip", "link", "add", "here", "type", "veth", "peer", "name", "there", "netns", pid)
        self.run("ip", "addr", "add", f"{HERE}/30", "dev", "here")
        self.run("ip", "link", "set", "here", "up")
        self.run(*self.inside, "ip", "addr", "add", f"{THERE}/30", "dev", "there")
        self.plug("up")

    def run(self, *command):
        subprocess.run(command, check=True)

    def plug(self, way):
        self.run(*self.inside, "ip", "link", "set", "there", way)

    def enter(self):
        """Moves the calling thread into the second network; its next sockets are made there."""
        network = os.open(f"/proc/{self.holder.pid}/ns/net", os.O_RDONLY)
        moved = ctypes.CDLL(None, use_errno=True).setns(network, 0x40000000)  # CLONE_NEWNET
        os.close(network)
        expect(moved == 0, f"setns: {os.strerror(ctypes.get_errno())}")

    def remove(self):
        self.holder.kill()
        self.holder.wait()


class Device:
    """A client behind the cable, which fetches whenever it is told of something, and after each connection."""

    def __init__(self, number, server, web):
        self.server, self.name = server, f"d{number}"
        self.credentials = urllib.parse.urlencode(
            {"ckAPIToken": server.token, "ckWebAuthToken": web, "clientId": self.name}
        )
        self.token, self.records = None, {}
        self.heard, self.is_ready, self.connections = [], False, 0

    def connect(self):
        connection = http.client.HTTPConnection(HERE, self.server.port, timeout=SILENCE)
        connection.connect()
        self.connections += 1
        return connection

    def post(self, path, body):
        connection = self.connect()
        try:
            connection.request("POST", f"{path}?{self.credentials}", json.dumps(body), {"Content-Type": "application/json"})
            answer = connection.getresponse()
            text = answer.read()
            expect(answer.status == 200, f"{path}: {answer.status} {text}")
            return json.loads(text)
        finally:
            connection.close()

    def fetch(self):
        more = True
        while more:
            question = {"zoneID": ZONE} | ({"syncToken": self.token} if self.token else {})
            answer = self.post(f"/database/1/{CONTAINER}/development/private/changes/zone", {"zones": [question]})
            page = answer["zones"][0]
            for record in page["records"]:
                self.records[record["recordName"]] = record["recordChangeTag"]
            self.token, more = page["syncToken"], page.get("moreComing")

    def hear(self, notification):
        self.heard.append(notification["ck"]["qry"]["rid"])
        self.fetch()

    def live(self, cable, problems):
        """Listens for ever; a connection that fails is made again."""
        try:
            cable.enter()
            while True:
                try:
                    self.listen()
                except (OSError, http.client.HTTPException):
                    time.sleep(0.5)
        except Exception as problem:
            problems.append(f"{self.name}: {problem!r}")


class StreamDevice(Device):
    last_event = None

    def listen(self):
        connection = self.connect()
        try:
            path = f"/database/1/{CONTAINER}/development/private/changes/stream?{self.credentials}"
            connection.request("GET", path, headers={"Last-Event-ID": self.last_event} if self.last_event else {})
            answer = connection.getresponse()
            expect(answer.status == 200, f"the stream: {answer.status}")
            event = {}
            while line := answer.readline():
                name, _, value = line.decode().rstrip("\r\n").partition(": ")
                if name in ("id", "event", "data"):
                    event[name] = value
                elif "data" in event:
                    expect(event["event"] in ("ready", "notification"), f"the stream said {event}")
                    # What was told is not told again, even if the fetch that follows fails.
                    self.last_event = event["id"]
                    if event["event"] == "notification":
                        self.hear(json.loads(event["data"]))
                    else:
                        self.is_ready = True
                        self.fetch()
                    event = {}
        finally:
            connection.close()


class CourierDevice(Device):
    path = None

    def listen(self):
        if self.path is None:
            body = {"apnsEnvironment": "development"}
            token = self.post(f"/device/1/{CONTAINER}/development/tokens/create", body)
            self.path = urllib.parse.urlsplit(token["webcourierURL"]).path
        # A connection that broke may have swallowed a notification.
        self.fetch()
        self.is_ready = True
        connection = self.connect()
        try:
            while True:
                connection.request("GET", self.path)
                answer = connection.getresponse()
                text = answer.read()
                expect(answer.status in (200, 204), f"the courier: {answer.status} {text}")
                if text:
                    self.hear(json.loads(text))
        finally:
            connection.close()


class Tail:
    """The command that follows the log of the server, behind the cable."""

    def __init__(self, cable, server, secret, problems):
        self.names, self.is_over = [], False
        self.process = subprocess.Popen(
            [
                *cable.inside, server.program, "log", "tail", "--url", f"http://{HERE}:{server.port}",
                "--secret-file", str(secret), "--json", "--from", "0",
            ],
            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        )
        threading.Thread(target=self.live, args=(problems,), daemon=True).start()

    def live(self, problems):
        for line in self.process.stdout:
            event = json.loads(line)
            if event.get("event") == "recordSaved" and event.get("recordType") == "Note":
                self.names.append(event["recordName"])
        if not self.is_over:
            problems.append(f"log tail ended: {self.process.stderr.read()}")

    def end(self):
        self.is_over = True
        self.process.kill()


class Writer:
    """Others, whom the cable does not concern."""

    def __init__(self, server, web):
        self.client, self.names = Client(server, web, device="writer"), []

    def create(self, operation, kind, what):
        body = {"operations": [{"operationType": "create", kind: what}]}
        status, answer = self.client.ask(operation, body)
        expect(status == 200 and "serverErrorCode" not in json.dumps(answer), f"{operation}: {status} {answer}")

    def save(self):
        name = f"n{len(self.names)}"
        record = {"recordName": name, "recordType": "Note", "fields": {}}
        body = {"zoneID": ZONE, "operations": [{"operationType": "create", "record": record}]}
        status, answer = self.client.ask("records/modify", body)
        expect(status == 200 and "recordChangeTag" in answer["records"][0], f"{name}: {status} {answer}")
        self.names.append(name)

    def save_for(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            self.save()
            time.sleep(0.25)


def caught_up(writer, devices, tail, problems):
    """Waits until all have everything, and returns how long that took."""
    began, names = time.monotonic(), set(writer.names)

    def behind():
        late = {device.name: len(names - device.records.keys()) for device in devices}
        late |= {f"told {device.name}": len(names - set(device.heard)) for device in devices if isinstance(device, StreamDevice)}
        late["log tail"] = len(names - set(tail.names))
        return {name: count for name, count in late.items() if count}

    while late := behind():
        expect(not problems, f"{problems[:3]}")
        expect(time.monotonic() < began + CATCH_UP, f"after {CATCH_UP} s still missing: {late}")
        time.sleep(0.1)
    return time.monotonic() - began


def proof(program, folder):
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 60
    cable = Cable()
    server = tail = None
    try:
        server = Server(program, folder / "store.tide", "--host", "0.0.0.0")
        web = server.sign_in()
        secret = folder / "secret"
        secret.write_text(server.run("administrators", "add", server.store, "ann"))
        writer = Writer(server, web)
        writer.create("zones/modify", "zone", {"zoneID": ZONE})
        writer.create("subscriptions/modify", "subscription", {
            "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["create"],
            "query": {"recordType": "Note", "filterBy": []},
        })
        devices, problems = [], []
        for number in range(DEVICES):
            devices += [StreamDevice(number, server, web), CourierDevice(DEVICES + number, server, web)]
        for device in devices:
            threading.Thread(target=device.live, args=(cable, problems), daemon=True).start()
        wait_for(f"the devices {problems}", lambda: problems or all(device.is_ready for device in devices))
        tail = Tail(cable, server, secret, problems)
        writer.save()
        caught_up(writer, devices, tail, problems)

        cable.plug("down")
        before = len(writer.names)
        writer.save_for(seconds)
        missed = len(writer.names) - before
        for device in devices:
            expect(len(device.records.keys() & set(writer.names)) <= before, f"{device.name} heard through a pulled cable")
        cable.plug("up")
        took = caught_up(writer, devices, tail, problems)

        for device in devices:
            if isinstance(device, StreamDevice):
                expect(len(set(device.heard)) == len(device.heard), f"{device.name} was told twice: {device.heard}")
        expect(len(set(tail.names)) == len(tail.names), "log tail printed a save twice")
        fresh = Device("fresh", server, web)
        fresh.fetch()
        for device in devices:
            expect(device.records == fresh.records, f"{device.name} has other records")
        print(
            f"  cable pulled for {seconds:.0f} s, {missed} saves meanwhile: {len(devices)} devices and log tail "
            f"caught up {took:.1f} s later; streams and log tail were told of each once"
        )
        tail.end()
        server.end()
    finally:
        if tail:
            tail.end()
        if server:
            server.kill()
        cable.remove()


prove(proof)
