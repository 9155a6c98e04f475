// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import HTTPTypes
import Hummingbird
import TidemarkModel
import TidemarkWire

/// Pages for people.
enum Page {
    struct SignIn {
        var container: String
        var state: String
        var isSignUp: Bool
        var allowsSignUp: Bool
        var asksDiscoverable: Bool
        var form: QueryMembers
        var problem: String?
        var callback: String?
    }

    static func signIn(_ page: SignIn) -> Response {
        let title = page.isSignUp ? "Make an account" : "Sign in"
        let problem = notice(page.problem)
        let names =
            page.isSignUp
            ? input(
                "given",
                "Given name",
                "text",
                page.form["given"],
                "given-name",
                isNeeded: false
            )
                + input(
                    "family",
                    "Family name",
                    "text",
                    page.form["family"],
                    "family-name",
                    isNeeded: false
                )
                + "<input type=\"hidden\" name=\"new\" value=\"1\">"
            : ""
        let discoverable =
            page.asksDiscoverable
            ? box("discoverable", "Others may find me by my address") : ""
        let other =
            if page.isSignUp {
                "<p><a href=\"/signin?s=\(page.state)\">I have an account</a></p>"
            } else if page.allowsSignUp {
                "<p><a href=\"/signin?s=\(page.state)&amp;new=1\">Make an account</a></p>"
            } else {
                ""
            }
        let body = """
            <h1>\(title)</h1><p>to use \(escaped(page.container))</p>\(problem)
            <form method="post" action="/signin">
            <input type="hidden" name="s" value="\(escaped(page.state))">
            \(input("email", "E-mail address", "email", page.form["email"], "username"))
            \(input("password", "Password", "password", nil, page.isSignUp ? "new-password" : "current-password"))
            \(names)\(box("keep", "Keep me signed in"))\(discoverable)
            <button type="submit">\(title)</button></form>\(other)
            """
        let nonce = [UInt8].random(16).base64URL
        return Response(
            html: document(title, body, nonce),
            formTargets: page.callback.map { [$0] } ?? [],
            nonce: nonce
        )
    }

    /// Returns the page that passes a token to the window that opened it.
    static func signedIn(_ token: String, origin: String?, showsToken: Bool) -> Response {
        let nonce = [UInt8].random(16).base64URL
        var body = "<h1>You are signed in</h1><p>You can close this window.</p>"
        if let origin {
            // The token is base64url; the origin is escaped like any text.
            body += """
                <script nonce="\(nonce)">
                const message = {ckSession: "\(token)", ckWebAuthToken: "\(token)"};
                if (window.opener) {
                    window.opener.postMessage(message, \(scriptText(origin)));
                    window.close();
                }
                </script>
                """
        } else if showsToken {
            body += """
                <p>The token for <code>ckWebAuthToken</code>:</p>
                <p><code id="token">\(token)</code></p>
                """
        }
        return Response(html: document("Signed in", body, nonce), nonce: nonce)
    }

    /// Returns the page to which the link to a share leads in a browser.
    static func share(_ token: String) -> Response {
        page(
            "Something is shared with you",
            """
            <p>Open this link in the app that it is for. An app that asks for a code takes this one:</p>
            <p><code id="share">\(escaped(token))</code></p>
            """
        )
    }

    /// Returns a page of the server, whose forms lead only to the server.
    static func page(
        _ title: String,
        _ body: String,
        status: HTTPResponse.Status = .ok
    ) -> Response {
        let nonce = [UInt8].random(16).base64URL
        return Response(
            html: document(title, "<h1>\(escaped(title))</h1>\(body)", nonce),
            status: status,
            nonce: nonce
        )
    }

    /// Writes a notice at the top of a page.
    static func notice(_ text: String?) -> String {
        text.map { "<p class=\"problem\" role=\"alert\">\(escaped($0))</p>" } ?? ""
    }

    static func message(_ title: String, _ text: String) -> Response {
        page(title, "<p>\(escaped(text))</p>", status: .badRequest)
    }

    static func input(
        _ name: String,
        _ label: String,
        _ type: String,
        _ value: String?,
        _ autocomplete: String,
        isNeeded: Bool = true
    ) -> String {
        """
        <label>\(label)<input name="\(name)" type="\(type)" value="\(escaped(value ?? ""))" \
        autocomplete="\(autocomplete)"\(isNeeded ? " required" : "")></label>
        """
    }

    private static func box(_ name: String, _ label: String) -> String {
        "<label class=\"box\"><input type=\"checkbox\" name=\"\(name)\" value=\"1\"> \(label)</label>"
    }

    private static func document(_ title: String, _ body: String, _ nonce: String) -> String {
        """
        <!doctype html><html lang="en"><head><meta charset="utf-8"><title>\(escaped(title))</title>
        <meta name="viewport" content="width=device-width, initial-scale=1">
        <style nonce="\(nonce)">
        body { font: 16px/1.5 system-ui, sans-serif; max-width: 24rem; margin: 3rem auto; padding: 0 1rem; }
        label { display: block; margin: 0 0 1rem; } .box { display: flex; gap: .5rem; }
        input:not([type=checkbox]) { display: block; width: 100%; box-sizing: border-box; font: inherit;
        padding: .5rem; border: 1px solid #767676; border-radius: 4px; }
        button { font: inherit; padding: .5rem 1rem; } code { overflow-wrap: anywhere; }
        .problem { border-left: 4px solid #b00020; padding-left: .75rem; }
        </style></head><body><main>\(body)</main></body></html>
        """
    }

    /// Escapes a text for HTML, also within quotes.
    static func escaped(_ text: String) -> String {
        var escaped = String.UnicodeScalarView()
        // By scalars: a mark that follows or precedes a `<` is one `Character` with it.
        for scalar in text.unicodeScalars {
            switch scalar {
            case "&": escaped += "&amp;".unicodeScalars
            case "<": escaped += "&lt;".unicodeScalars
            case ">": escaped += "&gt;".unicodeScalars
            case "\"": escaped += "&quot;".unicodeScalars
            case "'": escaped += "&#39;".unicodeScalars
            default: escaped.append(scalar)
            }
        }
        return String(escaped)
    }

    /// Text as a literal of a script within a page.
    private static func scriptText(_ text: String) -> String {
        var bytes: [UInt8] = []
        bytes.append(jsonString: text)
        // A `<` is escaped as well, because `</script>` in a text would end the script. By bytes, because a
        // mark that follows it is one `Character` with it.
        let parts = bytes.split(separator: UInt8(ascii: "<"), omittingEmptySubsequences: false)
        return String(decoding: Array(parts.joined(separator: "\\u003c".utf8)), as: UTF8.self)
    }
}
#endif
