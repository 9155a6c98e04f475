// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import TidemarkModel
import TidemarkWire

/// A caller and a database, as addresses and receipts contain them.
struct TicketCaller: Codable, Hashable {
    var container: String
    var environment: String
    var scope: Int
    var owner: String
    var user: String?
    var session: String?
    var key: String?
    var issuer: String?

    init(_ caller: Caller) {
        container = caller.database.container.identifier
        environment = caller.database.environment.rawValue
        scope = caller.database.scope.rawValue
        owner = caller.database.owner.userRecordName
        user = caller.user?.userRecordName
        switch caller.authentication {
        case .session(let id): session = id
        case .serverKey(let id): key = id
        case .identityProvider(let url): issuer = url
        default: break
        }
    }

    /// The caller; `nil` for a record that no server wrote.
    var caller: Caller? {
        guard let environment = Environment(rawValue: environment),
            let scope = DatabaseScope(rawValue: scope)
        else { return nil }
        return Caller(
            database: DatabaseID(
                container: ContainerID(container),
                environment: environment,
                scope: scope,
                owner: UserID(owner)
            ),
            user: user.map { UserID($0) },
            device: session.map { "web-" + $0.prefix(8) } ?? "web",
            // Without any, an anonymous caller of a public database.
            authentication: Authentication(session: session, key: key, issuer: issuer)
        )
    }
}

/// The field of an upload, as addresses and receipts contain it.
struct TicketTarget: Codable, Hashable {
    var zone: ZoneID
    var recordType: String
    var fieldName: String

    init(_ target: AssetTarget) {
        zone = target.zone
        recordType = target.recordType
        fieldName = target.fieldName
    }

    var target: AssetTarget {
        AssetTarget(zone: zone, recordType: recordType, fieldName: fieldName)
    }
}

/// The content of an upload's address.
struct UploadTicket: Codable {
    static let purpose = "upload"
    // For the beginning of an upload. One that has begun may take longer.
    static let lifetime: Int64 = 15 * 60_000
    var caller: TicketCaller
    var target: TicketTarget
    var nonce: String
    var end: Int64
}

/// The content of a download's address.
struct DownloadTicket: Codable {
    static let purpose = "download"
    static let lifetime: Int64 = 60 * 60_000
    var caller: TicketCaller
    var request: DownloadAssetRequest
    var end: Int64
}

/// The proof by which a save names an asset.
struct Receipt: Codable {
    static let purpose = "receipt"
    static let lifetime: Int64 = 24 * 60 * 60_000
    var caller: TicketCaller
    var target: TicketTarget?
    var asset: AssetReference
    var end: Int64
}

/// The host as one client sees it.
struct RequestHost: WebHost {
    let server: Server
    let incoming: Incoming
    /// The token of the request; `nil` without one.
    let token: APIToken?

    func signInURL() -> String? { token.map { server.signInURL($0, incoming) } }

    private func address(_ path: String, _ ticket: some Encodable, _ purpose: String) -> String {
        // Encoding these cannot fail: they contain only texts and integers.
        let text = (try? server.directory.secret.sealed(ticket, for: purpose)) ?? ""
        return "\(incoming.baseURL)/assets/\(path)\(text)"
    }

    func uploadURL(for target: AssetTarget, as caller: Caller) -> String {
        let ticket = UploadTicket(
            caller: TicketCaller(caller),
            target: TicketTarget(target),
            nonce: UniqueName.make(),
            end: Clock.now() + UploadTicket.lifetime
        )
        return address("up/", ticket, UploadTicket.purpose)
    }

    func downloadURL(
        of asset: AssetReference,
        at request: DownloadAssetRequest,
        as caller: Caller
    ) -> String {
        let ticket = DownloadTicket(
            caller: TicketCaller(caller),
            request: request,
            end: Clock.now() + DownloadTicket.lifetime
        )
        return address("", ticket, DownloadTicket.purpose)
    }

    func receipt(
        for asset: AssetReference,
        _ target: AssetTarget?,
        as caller: Caller
    ) -> String {
        let receipt = Receipt(
            caller: TicketCaller(caller).forReceipts,
            target: target.map { TicketTarget($0) },
            asset: asset,
            end: Clock.now() + Receipt.lifetime
        )
        return (try? server.directory.secret.sealed(receipt, for: Receipt.purpose)) ?? ""
    }

    func asset(
        ofReceipt receipt: String,
        as caller: Caller
    ) -> (asset: AssetReference, target: AssetTarget?)? {
        let secret = server.directory.secret
        guard let found = secret.opened(receipt, for: Receipt.purpose, as: Receipt.self),
            // A receipt is good for the user and the database that it was given to, so a copy is
            // useless to others.
            found.caller == TicketCaller(caller).forReceipts, Clock.now() < found.end
        else { return nil }
        return (found.asset, found.target?.target)
    }

    func currentToken(of zone: ZoneID, as caller: Caller) -> ChangeToken? {
        try? server.store.currentToken(of: zone, as: caller)
    }

    func newestChanges(
        _ request: ZoneChangesRequest,
        through end: ChangeToken,
        as caller: Caller
    ) async throws(SyncError) -> ZoneChanges {
        try await server.store.newestChanges(request, through: end, as: caller)
    }

    func shortGUID(of record: RecordID, as caller: Caller) -> String {
        // The text is computed and not stored, and is the same each time. A share that is created
        // later therefore gets the link that was shown before (Docs/web-services.md,
        // `createShortGUID`).
        var zone = record.zone
        // The owner by name, so that the owner and a participant get the same GUID for a record.
        if zone.ownerName == ZoneID.currentOwner {
            zone = ZoneID(
                zoneName: zone.zoneName,
                ownerName: caller.database.owner.userRecordName
            )
        }
        // Lengths separate the parts: names may contain any character.
        let parts = [
            caller.database.container.identifier, caller.database.environment.rawValue,
            zone.ownerName, zone.zoneName, record.recordName,
        ]
        let text = parts.map { "\($0.utf8.count):\($0)" }.joined()
        return server.directory.secret.code(of: text.utf8, for: "short GUID").prefix(16).hexadecimal
    }

    func shareURL(ofToken token: String) -> String { "\(incoming.baseURL)/share/\(token)" }

    func profile(of caller: Caller) async throws(SyncError) -> UserIdentity {
        let user = try await server.store.currentUser(as: caller)
        let account = try server.store.account(
            of: user,
            of: caller.database.container,
            in: caller.database.environment
        )
        return UserIdentity(
            user: user,
            lookup: account?.emails.first.map { .email($0) },
            name: account?.name ?? PersonName()
        )
    }
}

extension TicketCaller {
    /// The caller without the session: a receipt is valid for the user in every session.
    fileprivate var forReceipts: TicketCaller {
        var caller = self
        caller.session = nil
        return caller
    }
}
#endif
