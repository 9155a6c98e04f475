"""A headless Chromium that a proof drives, and pages for it. It speaks WebDriver to Debian's chromium-driver."""

import functools
import http.client
import http.server
import json
import pathlib
import re
import subprocess
import threading

from served import Failure

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Browser:
    """A headless Chromium with a profile of its own."""

    def __init__(self, folder):
        self.driver = subprocess.Popen(
            ["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
        )
        self.session = None
        for line in self.driver.stdout:
            if found := re.search(r"started successfully on port (\d+)", line):
                self.port = int(found[1])
                break
        else:
            raise Failure("chromedriver did not start")
        threading.Thread(target=self.driver.stdout.read, daemon=True).start()
        # Chromium's own sandbox does not run for root; the page is ours.
        arguments = [
            "--headless=new", "--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--no-first-run",
            "--disable-background-networking", f"--user-data-dir={folder}",
        ]
        options = {"goog:chromeOptions": {"args": arguments}, "goog:loggingPrefs": {"browser": "ALL"}}
        try:
            self.session = self.do("POST", "/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]
        except BaseException:
            self.driver.kill()
            raise

    def do(self, method, path, body=None):
        place = f"/session/{self.session}" if self.session else ""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=180)
        connection.request(method, place + path, json.dumps(body) if body is not None else None)
        value = json.loads(connection.getresponse().read())["value"]
        connection.close()
        if isinstance(value, dict) and "error" in value:
            raise Failure(f"WebDriver {path}: {value['error']}: {value['message'].splitlines()[0]}")
        return value

    def open(self, url):
        self.do("POST", "/url", {"url": url})

    def find(self, selector):
        return self.do("POST", "/element", {"using": "css selector", "value": selector})[ELEMENT]

    def click(self, selector):
        self.do("POST", f"/element/{self.find(selector)}/click", {})

    def write(self, selector, text):
        self.do("POST", f"/element/{self.find(selector)}/value", {"text": text})

    def text(self, selector):
        return self.do("GET", f"/element/{self.find(selector)}/text")

    def windows(self):
        return self.do("GET", "/window/handles")

    def turn_to(self, window):
        self.do("POST", "/window", {"handle": window})

    def complaints(self):
        """What the console of the pages so far says is wrong, but for the status 421 that asks to sign in."""
        entries = self.do("POST", "/se/log", {"type": "browser"})
        return [
            entry["message"] for entry in entries
            if entry["level"] == "SEVERE" and "favicon" not in entry["message"] and " 421 " not in entry["message"]
        ]

    def quit(self):
        try:
            if self.session:
                self.do("DELETE", "")
        finally:
            self.driver.terminate()
            self.driver.wait()


class Pages(http.server.ThreadingHTTPServer):
    """An origin of its own: the pages of a folder, by default those beside this file."""

    def __init__(self, folder=pathlib.Path(__file__).parent):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        super().__init__(("127.0.0.1", 0), functools.partial(Quiet, directory=str(folder)))
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"
