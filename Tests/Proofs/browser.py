"""A page in Chromium signs in by pop-up from another origin, saves, uploads, and reads a delta.

The proof clicks and types as a person does.
"""

import urllib.parse

from chromium import Browser, Pages
from served import Server, expect, prove, wait_for


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
