"""A webhook reaches no address of the server's own networks: not by a name whose answer changes between the check and the
connection, and not by a redirect.

The name server of this proof answers each name with the address of the receiver, which is allowed, and with the loopback
address by turns. A server that looked a name up twice for one request would send it to a program on the loopback interface.

Usage: webhooks.py PROGRAM
It needs Linux, and a network and mounts of its own as root: unshare --net --mount --propagation private python3 webhooks.py …
"""

import collections
import http.server
import json
import socket
import struct
import subprocess
import threading

from served import Client, Server, expect, prove, wait_for

RECEIVER, NETWORK, INTERNAL = "10.213.79.1", "10.213.79.0/24", "127.0.0.1"
# Names in several spellings: the name that is checked and the name that is connected to must be the same for each.
HOSTS = ["hook.test", "CASE.test", "%65ncoded.test", "b\u00fccher.test"]
A_RECORD = 1


class NameServer(threading.Thread):
    """Answers questions for addresses of version 4 with the receiver's address and the loopback address by turns."""

    def __init__(self):
        super().__init__(daemon=True)
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((INTERNAL, 53))
        self.asked = collections.Counter()

    def run(self):
        while True:
            question, sender = self.socket.recvfrom(4096)
            name, place = [], 12
            while question[place]:
                name.append(question[place + 1:place + 1 + question[place]].decode())
                place += 1 + question[place]
            kind, _ = struct.unpack(">HH", question[place + 1:place + 5])
            answer = b""
            if kind == A_RECORD:
                name = ".".join(name).lower()
                address = INTERNAL if self.asked[name] % 2 else RECEIVER
                self.asked[name] += 1
                # The name is that of the question; the answer is valid for no time.
                answer = struct.pack(">HHHIH", 0xC00C, A_RECORD, 1, 0, 4) + socket.inet_aton(address)
            head = question[:2] + struct.pack(">HHHHH", 0x8180, 1, bool(answer), 0, 0)
            self.socket.sendto(head + question[12:place + 5] + answer, sender)


class Receiver(http.server.ThreadingHTTPServer):
    """A program that keeps the paths of its requests; it redirects some of them."""

    def __init__(self, address, port=0):
        self.paths = []
        super().__init__((address, port), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def count(self, path):
        return self.paths.count(path)


class Handler(http.server.BaseHTTPRequestHandler):
    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        self.server.paths.append(self.path)
        code = self.path.removeprefix("/redirect")
        if code.isdigit():
            self.send_response(int(code))
            self.send_header("Location", f"http://{INTERNAL}:{self.server.server_port}/inside")
        else:
            self.send_response(204)
        self.end_headers()

    def do_GET(self):
        self.do_POST()

    def log_message(self, *_):
        pass


def proof(program, folder):
    run = lambda *command: subprocess.run(command, check=True)
    run("ip", "link", "set", "lo", "up")
    run("ip", "addr", "add", NETWORK.replace(".0/", ".1/"), "dev", "lo")
    names = folder / "resolv.conf"
    names.write_text(f"nameserver {INTERNAL}\noptions timeout:1 attempts:1\n")
    run("mount", "--bind", str(names), "/etc/resolv.conf")
    name_server = NameServer()
    name_server.start()
    receiver = Receiver(RECEIVER)
    internal = Receiver(INTERNAL, receiver.server_port)

    server = Server(program, folder / "store.tide", "--webhook-network", NETWORK)
    try:
        web = server.sign_in()
        client = Client(server, web, device="writer")
        status, user = client.ask("users/current", {}, "public")
        expect(status == 200, f"users/current: {status} {user}")
        status, answer = client.ask("subscriptions/modify", {"operations": [{
            "operationType": "create", "subscription": {
                "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["create"],
                "query": {"recordType": "Note", "filterBy": []},
            }}]})
        expect(status == 200 and "serverErrorCode" not in json.dumps(answer), f"subscriptions: {status} {answer}")
        urls = {f"http://{host}:{receiver.server_port}/name{number}": f"/name{number}" for number, host in enumerate(HOSTS)}
        redirects = {f"http://{RECEIVER}:{receiver.server_port}/redirect{code}": code for code in (302, 303, 307, 308)}
        for url in [*urls, *redirects]:
            server.run("webhooks", "add", server.store, url, "--user", user["userRecordName"])

        def failures():
            lines = server.run("webhooks", "list", server.store, "--json").splitlines()
            return {line["url"]: line["failure"] for line in map(json.loads, lines)}

        expect(client.save("n1", 1) is True, "the first record")
        for url, path in urls.items():
            wait_for(f"the first request to {url}, which says {failures()}", lambda: receiver.count(path) == 1)
        for url, code in redirects.items():
            wait_for(f"the failure of {url}", lambda: f"status {code}" in failures()[url])
        # The second look-up of each name gives the loopback address. The check refuses it, and the third succeeds.
        expect(client.save("n2", 2) is True, "the second record")
        for url, path in urls.items():
            wait_for(f"the refusal of {url}", lambda: f"is {INTERNAL}, which is not a public address" in failures()[url])
        for url, path in urls.items():
            wait_for(f"the second request to {url}", lambda: receiver.count(path) == 2)
        wait_for("the records of success", lambda: not any(failures()[url] for url in urls))
        expect(all(count == 3 for count in name_server.asked.values()), f"look-ups: {name_server.asked}")
        expect(len(name_server.asked) == len(HOSTS), f"names: {name_server.asked}")
        expect(not internal.paths, f"the loopback interface was reached: {internal.paths}")
        print(
            f"  {len(HOSTS)} names whose answers change, {len(redirects)} redirects: "
            f"{len(receiver.paths)} requests to the receiver, none to the loopback interface"
        )
        server.end()
    finally:
        server.kill()


prove(proof)
