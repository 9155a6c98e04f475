"""A page in Chromium signs in by pop-up from another origin, saves, uploads, and reads a delta.

It speaks WebDriver to Debian's chromium-driver, and clicks and types as a person does.
"""

import functools
import http.client
import http.server
import json
import pathlib
import re
import subprocess
import threading
import urllib.parse

from served import Failure, Server, expect, prove, wait_for

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
        self.session = self.do("POST", "/session", {"capabilities": {"alwaysMatch": options}})["sessionId"]

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
    """Another origin: the page beside this file, on a port of its own."""

    def __init__(self):
        class Quiet(http.server.SimpleHTTPRequestHandler):
            def log_message(self, *_):
                pass

        folder = str(pathlib.Path(__file__).parent)
        super().__init__(("127.0.0.1", 0), functools.partial(Quiet, directory=folder))
        threading.Thread(target=self.serve_forever, daemon=True).start()
        self.origin = f"http://127.0.0.1:{self.server_address[1]}"


def after(browser, button):
    """What the page says once the action of a button has ended."""
    before = browser.text("#state")
    browser.click(f"#{button}")
    return wait_for(f"the page after {button}", lambda: (t := browser.text("#state")) != before and t)


def sign_in(browser):
    """Clicks, makes an account in the window that opens, and waits until that window is gone."""
    [page] = browser.windows()
    browser.click("#sign-in")
    [window] = wait_for("a pop-up", lambda: [one for one in browser.windows() if one != page])
    browser.turn_to(window)
    wait_for("the sign-in page", lambda: browser.do("GET", "/title") == "Sign in")
    browser.click("a[href*='new=1']")
    wait_for("the form for a new account", lambda: "new=1" in browser.do("GET", "/url"))
    browser.write("input[name=email]", "kari@example.org")
    browser.write("input[name=password]", "a long password")
    browser.write("input[name=given]", "Kari")
    complaints = browser.complaints()
    browser.click("button[type=submit]")
    wait_for("the pop-up to close", lambda: browser.windows() == [page])
    browser.turn_to(page)
    expect(not complaints, f"the sign-in page: {complaints}")
    return wait_for("being signed in", lambda: (t := browser.text("#state")) != "new" and t)


def proof(program, folder):
    ours, theirs = Pages(), Pages()
    server = Server(program, folder / "store.tide")
    browser = None
    try:
        token = server.run(
            "tokens", "add", server.store, "--name", "page", "--environment", "development", "--origin", ours.origin
        )
        browser = Browser(folder / "profile")
        query = urllib.parse.urlencode({"server": server.address, "token": token})
        browser.open(f"{ours.origin}/page.html?{query}")
        said = [sign_in(browser)]
        said += [after(browser, button) for button in ("save", "upload", "delta")]
        complaints = browser.complaints()
        wanted = [
            "signed in as Kari", "saved", "uploaded", "delta n1=Høyvann 5:40 ✓, n2=photo, then 0",
        ]
        expect(said == wanted, f"the page says {said} instead of {wanted}")
        expect(not complaints, f"the browser complains: {complaints}")

        # The same page from an origin that the token does not name learns nothing.
        browser.open(f"{theirs.origin}/page.html?{query}")
        refused = after(browser, "sign-in")
        expect(refused == "failed: TypeError: Failed to fetch", f"a page of another origin: {refused}")
        expect(len(browser.windows()) == 1, "a page of another origin opened a window")
        print(f"  {', '.join(said)}; another origin: refused")
    finally:
        if browser:
            browser.quit()
        server.kill()
        ours.shutdown()
        theirs.shutdown()


prove(proof)
