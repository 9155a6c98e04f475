"""Pages in Chromium are told of changes: by courier, by a stream of their own, and ten tabs by one stream.

The stream of a page continues after a restart of the server. The ten tabs use Docs/Examples/SharedStream/stream.js as it
is; they go on when the first of them closes, and the stream ends with the last one.
"""

import pathlib
import shutil
import urllib.parse

from chromium import Browser, Pages
from served import Client, Server, expect, prove, wait_for

TABS = 10
HERE = pathlib.Path(__file__).parent


def streams(server):
    """The connections that the server has open, apart from those that wait to be forgotten."""
    lines = pathlib.Path("/proc/net/tcp").read_text().splitlines()[1:]
    lines += pathlib.Path("/proc/net/tcp6").read_text().splitlines()[1:]
    established = [line.split()[1] for line in lines if line.split()[3] == "01"]
    return sum(int(address.rsplit(":", 1)[1], 16) == server.port for address in established)


class Device:
    """Another client of the user, which saves."""

    def __init__(self, server, web):
        self.client = Client(server, web, device="writer")

    def save(self, name):
        expect(self.client.save(name, 1) is True, f"{name} was not saved")
        # Its connection must not be counted among those of the browser.
        self.client.close()


class Page:
    """A tab of the browser, in a way of being told."""

    def __init__(self, browser, origin, server, token, web, way, client):
        self.browser = browser
        query = {"way": way, "server": server.address, "token": token, "web": web, "client": client}
        self.window = browser.do("POST", "/window/new", {"type": "tab"})["handle"]
        browser.turn_to(self.window)
        browser.open(f"{origin}/tabs.html?{urllib.parse.urlencode(query)}")

    def says(self):
        self.browser.turn_to(self.window)
        return self.browser.text("#state")

    def wait(self, text):
        wait_for(f"{text!r} instead of {self.says()!r}", lambda: self.says() == text)

    def close(self):
        self.browser.turn_to(self.window)
        left = self.browser.do("DELETE", "/window")
        self.browser.turn_to(left[0])


def prove_single(page, device, server, way):
    """One page hears of each change once."""
    one = page(way, "reader")
    one.wait("new, ready")
    device.save(f"{way}1")
    one.wait(f"new, ready, {way}1")
    return one


def prove_tabs(page, device, server):
    tabs = [page("shared", "tabs") for _ in range(TABS)]
    heard = "new, ready"
    for tab in tabs:
        tab.wait(heard)
    expect(streams(server) == 1, f"{TABS} tabs have {streams(server)} connections")
    for name, closed in (("t1", None), ("t2", tabs[0]), ("t3", tabs[4])):
        if closed:
            closed.close()
            tabs.remove(closed)
        device.save(name)
        heard += f", {name}"
        for tab in tabs:
            tab.wait(heard)
    expect(streams(server) == 1, f"{len(tabs)} tabs have {streams(server)} connections")
    for tab in tabs:
        tab.close()
    wait_for("the stream to end", lambda: streams(server) == 0)


def proof(program, folder):
    site = folder / "site"
    site.mkdir()
    for file in (HERE / "tabs.html", HERE.parent.parent / "Docs/Examples/SharedStream/stream.js"):
        shutil.copy(file, site)
    pages = Pages(site)
    server = Server(program, folder / "store.tide")
    browser = None
    try:
        token = server.run(
            "tokens", "add", server.store, "--name", "page", "--environment", "development", "--origin", pages.origin
        )
        web = server.sign_in()
        client = Client(server, web)
        subscription = {
            "subscriptionID": "notes", "subscriptionType": "query", "firesOn": ["create"],
            "query": {"recordType": "Note", "filterBy": []},
        }
        status, answer = client.ask(
            "subscriptions/modify", {"operations": [{"operationType": "create", "subscription": subscription}]}
        )
        expect(status == 200, f"subscriptions/modify: {status} {answer}")
        client.close()
        browser = Browser(folder / "profile")
        device = Device(server, web)

        def page(way, client):
            return Page(browser, pages.origin, server, token, web, way, client)

        prove_tabs(page, device, server)
        prove_single(page, device, server, "courier").close()
        one = prove_single(page, device, server, "stream")
        port = server.port
        server.end()
        server.start(port)
        device.save("stream2")
        one.wait("new, ready, stream1, ready, stream2")
        print(f"  {TABS} tabs shared one stream; a page was told by courier and by a stream, also after a restart")
    finally:
        if browser:
            browser.quit()
        server.kill()
        pages.shutdown()


prove(proof)
