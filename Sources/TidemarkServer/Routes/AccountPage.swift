// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Foundation
import Hummingbird
import TidemarkDatabase
import TidemarkModel

/// The pages of a user's own account.
enum AccountPage {
    static func signIn(_ notice: String?) -> Response {
        Page.page(
            "Your account",
            """
            \(Page.notice(notice))<form method="post" action="/account/sign-in">
            \(Page.input("email", "E-mail address", "email", nil, "username"))
            \(Page.input("password", "Password", "password", nil, "current-password"))
            <button type="submit">Sign in</button></form>
            """
        )
    }

    static func account(
        _ account: Account,
        _ sessions: [Stored<Session>],
        _ notice: String?
    ) -> Response {
        let rows = sessions.map { session in
            let isPage = session.value.container == Registry.container.identifier
            let begun = Date(timeIntervalSince1970: Double(session.record.created.time) / 1000)
            let name = isPage ? "This page" : session.value.container
            return "<tr><td>\(Page.escaped(name))</td><td>\(begun.formatted(.iso8601))</td></tr>"
        }
        return Page.page(
            "Your account",
            """
            <p>\(Page.escaped(account.email))</p>\(Page.notice(notice))
            <h2>Sessions</h2><table><tr><th>App</th><th>Since</th></tr>\(rows.joined())</table>
            <form method="post" action="/account/sign-out"><button>Sign out here</button></form>
            <form method="post" action="/account/sign-out-everywhere">
            <button>Sign out everywhere</button></form>
            <h2>Password</h2><form method="post" action="/account/password">
            \(Page.input("old", "Old password", "password", nil, "current-password"))
            \(Page.input("new", "New password", "password", nil, "new-password"))
            <button type="submit">Change the password</button></form>
            """
        )
    }

    static func reset(_ link: String, _ notice: String?) -> Response {
        Page.page(
            "Set a new password",
            """
            \(Page.notice(notice))<form method="post" action="/reset">
            <input type="hidden" name="s" value="\(Page.escaped(link))">
            \(Page.input("password", "New password", "password", nil, "new-password"))
            <button type="submit">Set the password</button></form>
            """
        )
    }

    static func invitation(_ email: String, _ link: String, _ notice: String?) -> Response {
        Page.page(
            "Make an account",
            """
            <p>\(Page.escaped(email))</p>\(Page.notice(notice))
            <form method="post" action="/invitation">
            <input type="hidden" name="s" value="\(Page.escaped(link))">
            \(Page.input("password", "Password", "password", nil, "new-password"))
            \(Page.input("given", "Given name", "text", nil, "given-name", isNeeded: false))
            \(Page.input("family", "Family name", "text", nil, "family-name", isNeeded: false))
            <button type="submit">Make the account</button></form>
            """
        )
    }

    static var linkIsOver: Response {
        Page.message("This link is no longer valid", "Ask an administrator for a new one.")
    }
}
#endif
