"""Pages in Chromium are told of changes: by courier, by a stream of their own, and ten tabs by one stream.

The stream of a page continues after a restart of the server. The ten tabs use Docs/Examples/SharedStream/stream.js as
it is, each with a token of its own. They close one after the other, the first one first: the rest hear of each
change, and the stream ends with the last one. A tab that the user comes back to listens again, and tabs are told when
their session ended. No credential is in the log of the server.
"""

import os
import pathlib
import shutil
import urllib.parse

from chromium import Browser, Pages
from served import CONTAINER, Client, Server, expect, prove, wait_for

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

    def attribute(self, name):
        self.browser.turn_to(self.window)
        return self.browser.do("GET", f"/element/{self.browser.find('#state')}/attribute/{name}")

    def wait(self, text):
        wait_for(f"{text!r} instead of {self.says()!r}", lambda: self.says() == text)

    def close(self):
        self.browser.turn_to(self.window)
        left = self.browser.do("DELETE", "/window")
        self.browser.turn_to(left[0])


def another_token(server, web):
    """A token of the same session, as each answer carries one."""
    client = Client(server, web)
    credentials = urllib.parse.urlencode({"ckAPIToken": server.token, "ckWebAuthToken": web})
    path = f"/database/1/{CONTAINER}/development/private/users/caller?{credentials}"
    _, headers, _ = client.request("GET", path)
    client.close()
    return headers["X-Apple-CloudKit-Web-Auth-Token"]


def expect_no_secrets(server, secrets):
    """The log has lines of requests, and none of the credentials that they had."""
    # The server writes at the position of the same open file, which a read must not move.
    log = os.pread(server.errors.fileno(), 1 << 24, 0).decode()
    expect('"endpoint"' in log, f"the log has no line of a request: {log[-500:]}")
    for name, secret in secrets.items():
        expect(secret not in log and urllib.parse.quote(secret, "") not in log, f"the log has the {name}")


def prove_single(page, device, way):
    """One page hears of each change once."""
    one = page(way, "reader")
    one.wait("new, ready")
    device.save(f"{way}1")
    one.wait(f"new, ready, {way}1")
    return one


def prove_tabs(page, device, server, tokens):
    tabs = [page("shared", "tabs", token) for token in tokens]
    heard = "new, ready"
    for tab in tabs:
        tab.wait(heard)
    while tabs:
        name = f"tabs{len(tabs)}"
        device.save(name)
        heard += f", {name}"
        for tab in tabs:
            tab.wait(heard)
        expect(streams(server) == 1, f"{len(tabs)} tabs have {streams(server)} connections")
        tabs.pop(0).close()
    wait_for("the stream to end", lambda: streams(server) == 0)


def prove_return(page, device, server):
    """A tab that goes to another page and back hears again; meanwhile the stream of its name is closed."""
    other, tab = page("shared", "stays"), page("shared", "leaves")
    other.wait("new, ready")
    tab.wait("new, ready")
    expect(streams(server) == 2, f"two names have {streams(server)} connections")
    tab.browser.open("about:blank")
    wait_for("the stream to end", lambda: streams(server) == 1)
    tab.browser.do("POST", "/back", {})
    wait_for("the page", lambda: tab.browser.do("GET", "/title") == "A page that is told of changes")
    # The browser kept the page, and did not load it anew.
    tab.wait("new, ready, ready")
    device.save("back")
    tab.wait("new, ready, ready, back")
    other.wait("new, ready, back")
    other.close()
    tab.close()


def prove_end(page, server):
    """Tabs are told that the session ended, and a tab with a new session does not get their stream."""
    tab = page("shared", "end")
    tab.wait("new, ready")
    server.run("accounts", "sign-out", server.store, "ann@example.org")
    web = server.sign_in(new=False)
    # A stream sees with the next notification that its session ended.
    Device(server, web).save("unheard")
    tab.wait("new, ready, end")
    page("shared", "end", web).wait("new, ready")
    expect(tab.says() == "new, ready, end", f"a tab whose session ended says {tab.says()!r}")


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

        def page(way, client, web=web):
            return Page(browser, pages.origin, server, token, web, way, client)

        # The answers of one millisecond carry the same token.
        tokens = []
        for _ in range(100 * TABS):
            one = another_token(server, web)
            if one not in tokens:
                tokens.append(one)
            if len(tokens) == TABS:
                break
        expect(len(tokens) == TABS, "answers carry the same token")
        prove_tabs(page, device, server, tokens)
        prove_return(page, device, server)
        courier = prove_single(page, device, "courier")
        path = courier.attribute("title")
        courier.close()
        secrets = {"API token": token, "web auth token": web, "courier": path.rsplit("/", 1)[1]}
        secrets |= {f"token of tab {place}": one for place, one in enumerate(tokens)}
        one = prove_single(page, device, "stream")
        expect_no_secrets(server, secrets)
        port = server.port
        server.end()
        server.start(port)
        device.save("stream2")
        one.wait("new, ready, stream1, ready, stream2")
        prove_end(page, server)
        expect_no_secrets(server, secrets)
        print(f"  {TABS} tabs shared one stream; a page was told by courier and by a stream, also after a restart")
    finally:
        if browser:
            browser.quit()
        server.kill()
        pages.shutdown()


prove(proof)
