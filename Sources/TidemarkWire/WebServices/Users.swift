// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// `users/…`: the identities of the caller and of other users.
extension WebServices {
    func currentUser(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let profile = try await profile(request.caller)
        var writer = WebWriter(self, request)
        writer.user(profile)
        return writer.finished()
    }

    func callingUser(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let profile = try await profile(request.caller)
        var writer = WebWriter(self, request)
        writer.identity(profile)
        // `identity` has closed its object, so `finished` would close one too many.
        return writer.written
    }

    private func profile(_ caller: Caller) async throws(WebError) -> UserIdentity {
        do throws(SyncError) {
            return try await host.profile(of: caller)
        } catch {
            throw WebError(error)
        }
    }

    func discoverUsers(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        var lookups: [UserLookup]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "lookupInfos" else { return false }
            lookups = try it.values { (it) throws(JSONError) in try it.neededLookupInfo() }
            return true
        }
        // A GET has no body, and asks for all contacts.
        guard let lookups else { return try await contacts(request) }
        try checkCount(lookups.count, of: "lookupInfos")
        let found = try await ask { (it) throws(SyncError) in
            try await it.lookUpUsers(lookups, as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"users\":")
        writer.list(zip(lookups, found)) { writer, item in
            if var identity = item.1 {
                // The caller gets back the lookup that it sent, and no address that it did not
                // know.
                identity.lookup = item.0
                writer.identity(identity)
            } else {
                writer.literal("{")
                // A user who is not found keeps a place in the list, so that the answer has one
                // entry for each lookup.
                writer.lookupInfo(item.0)
                writer.literal("}")
            }
        }
        return writer.finished()
    }

    func contacts(_ request: WebRequest) async throws(WebError) -> [UInt8] {
        let found = try await ask { (it) throws(SyncError) in
            try await it.contacts(as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"users\":")
        writer.list(found) { $0.identity($1) }
        return writer.finished()
    }

    /// Answers the older lookups, by one member only.
    func lookUpUsers(
        _ request: WebRequest,
        _ member: String
    ) async throws(WebError) -> [UInt8] {
        var given: [String]?
        try request.read { (it, name) throws(JSONError) in
            guard name == "users" else { return false }
            given = try it.values { (it) throws(JSONError) in try it.neededMember(member) }
            return true
        }
        let texts = try checked(given, "users")
        let lookups: [UserLookup] = texts.map {
            member == "emailAddress" ? .email($0) : .user(UserID($0))
        }
        let found = try await ask { (it) throws(SyncError) in
            try await it.lookUpUsers(lookups, as: request.caller)
        }
        var writer = WebWriter(self, request)
        writer.literal("{\"users\":")
        writer.list(zip(lookups, found)) { writer, item in
            if var identity = item.1 {
                identity.lookup = item.0
                writer.user(identity)
                writer.literal("}")
            } else {
                writer.failure(.notFound("User not found")) {
                    $0.literal(
                        member == "emailAddress" ? "\"emailAddress\":" : "\"userRecordName\":"
                    )
                    $0.string(item.0.text)
                }
            }
        }
        return writer.finished()
    }
}

extension JSONReader {
    fileprivate mutating func neededLookupInfo() throws(JSONError) -> UserLookup {
        let start = offset
        guard let lookup = try lookupInfo() else {
            throw JSONError(
                "A lookupInfo needs emailAddress, phoneNumber or userRecordName.",
                at: start
            )
        }
        return lookup
    }
}

extension WebWriter {
    /// Writes a user as the older endpoints do, without the end of the object.
    fileprivate mutating func user(_ identity: UserIdentity) {
        literal("{\"userRecordName\":")
        string(name(of: identity.user))
        member("firstName", identity.name.givenName)
        member("lastName", identity.name.familyName)
        if case .email(let address)? = identity.lookup { member("emailAddress", address) }
    }
}
