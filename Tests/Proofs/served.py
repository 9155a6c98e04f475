"""A server of its own for a proof, and clients that ask it. Nothing but Python's standard library."""

import http.client
import json
import os
import pathlib
import re
import signal
import subprocess
import tempfile
import threading
import time
import urllib.parse

CONTAINER = "iCloud.tidemark"


class Failure(Exception):
    """What a proof found to be wrong."""


def expect(condition, message):
    if not condition:
        raise Failure(message)


def wait_for(what, condition, seconds=60):
    """The first answer of `condition` that is true."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if answer := condition():
            return answer
        time.sleep(0.05)
    raise Failure(f"waited {seconds} s for {what}")


class Client:
    """One connection to a server, as one user; it is made anew when the server closes it."""

    def __init__(self, server, web=None, timeout=60, device=None):
        self.server, self.web, self.timeout, self.device = server, web, timeout, device
        self.connection = None

    def request(self, method, path, body=None, headers={}):
        """The status, the headers and the body of an answer; OSError or HTTPException where there is none."""
        if self.connection is None:
            self.connection = http.client.HTTPConnection("localhost", self.server.port, timeout=self.timeout)
        try:
            self.connection.request(method, path, body, headers)
            answer = self.connection.getresponse()
            found = answer.status, answer.headers, answer.read()
        except (OSError, http.client.HTTPException):
            self.close()
            raise
        if answer.will_close:
            self.close()
        return found

    def close(self):
        if self.connection:
            self.connection.close()
            self.connection = None

    def ask(self, operation, body, database="private"):
        """The status and the JSON of an answer."""
        credentials = {"ckAPIToken": self.server.token}
        if self.web:
            credentials["ckWebAuthToken"] = self.web
        if self.device:
            credentials["clientId"] = self.device
        path = f"/database/1/{CONTAINER}/development/{database}/{operation}?{urllib.parse.urlencode(credentials)}"
        status, _, answer = self.request("POST", path, json.dumps(body), {"Content-Type": "application/json"})
        return status, json.loads(answer)

    def save(self, name, value):
        """True if the server said that it created the record; the answer otherwise."""
        record = {"recordName": name, "recordType": "Note", "fields": {"value": {"value": value}}}
        status, answer = self.ask("records/modify", {"operations": [{"operationType": "create", "record": record}]})
        if status == 200 and "recordChangeTag" in answer["records"][0]:
            return True
        return status, answer

    def upload_path(self, name):
        """Where to send the bytes of a record's asset."""
        token = {"recordName": name, "recordType": "Note", "fieldName": "file"}
        status, answer = self.ask("assets/upload", {"tokens": [token]})
        expect(status == 200, f"assets/upload: {status} {answer}")
        return urllib.parse.urlsplit(answer["tokens"][0]["url"]).path


class Server:
    """`tidemark serve` for a store, on a free port."""

    def __init__(self, program, store, *flags):
        self.program, self.store, self.flags = program, str(store), flags
        self.start()

    def start(self, port=0):
        self.errors = tempfile.TemporaryFile()
        self.process = subprocess.Popen(
            [self.program, "serve", self.store, "--port", str(port), *self.flags],
            stdout=subprocess.PIPE, stderr=self.errors, text=True,
        )
        said = ""
        while "/signin?" not in said:
            line = self.process.stdout.readline()
            if not line:
                self.errors.seek(0)
                raise Failure(f"the server ended: {self.errors.read().decode()[-2000:]}")
            said += line
        self.address = re.search(r"^Tidemark serves .* at (\S+)$", said, re.M)[1]
        self.token = re.search(r"API token\s+(\S+)", said)[1]
        self.port = urllib.parse.urlsplit(self.address).port
        # Nobody reads on, and a pipe holds little.
        threading.Thread(target=self.process.stdout.read, daemon=True).start()

    def run(self, *arguments, text=None):
        """What a command of the program prints."""
        done = subprocess.run([self.program, *arguments], input=text, capture_output=True, text=True)
        expect(done.returncode == 0, f"tidemark {' '.join(arguments)}: {done.stderr}{done.stdout}")
        return done.stdout.strip()

    def sign_in(self, address="ann@example.org", password="a long password", new=True):
        """A web auth token, as a browser gets it."""
        client = Client(self)
        _, headers, _ = client.request("GET", f"/signin?ckAPIToken={self.token}")
        state = headers["Location"].split("s=", 1)[1]
        form = {"s": urllib.parse.unquote(state), "email": address, "password": password, "keep": "1"}
        form |= {"new": "1"} if new else {}
        _, _, page = client.request(
            "POST", "/signin", urllib.parse.urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"}
        )
        found = re.search(r'id="token">([^<]*)', page.decode())
        expect(found, f"nobody could sign in: {page.decode()[-500:]}")
        return found[1]

    def ready(self):
        """The status and the text of /health/ready."""
        status, _, text = Client(self).request("GET", "/health/ready")
        return status, text.decode().strip()

    def is_alive(self):
        return self.process.poll() is None

    def end(self, seconds=60):
        """Asks the server to end as a service manager does, and returns how long that took."""
        began = time.monotonic()
        self.process.send_signal(signal.SIGTERM)
        try:
            status = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            self.process.kill()
            raise Failure(f"SIGTERM did not end the server within {seconds} s")
        expect(status == 0, f"SIGTERM ended the server with status {status}")
        return time.monotonic() - began

    def kill(self):
        if self.is_alive():
            self.process.kill()
        self.process.wait()

    def expect_sound(self):
        """The store, which nobody serves, has no damage."""
        self.run("log", "verify", self.store)

    def memory(self):
        """The bytes that the process has resident."""
        text = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        return int(re.search(r"VmRSS:\s+(\d+)", text)[1]) * 1024

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def prove(proof):
    """Runs `proof(program, folder)` in a temporary folder, and ends with what it found."""
    import sys
    import traceback

    uncaught = []
    threading.excepthook = lambda args: uncaught.append(args.exc_value)
    with tempfile.TemporaryDirectory(prefix="tidemark-proof-") as folder:
        try:
            proof(os.path.abspath(sys.argv[1]), pathlib.Path(folder))
            expect(not uncaught, f"threads failed: {uncaught[:3]!r}")
        except Failure as failure:
            print(f"FAILED: {failure}")
            sys.exit(1)
        except Exception:
            traceback.print_exc()
            sys.exit(1)
