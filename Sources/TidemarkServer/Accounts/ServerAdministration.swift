// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
public import TidemarkAdministration
public import TidemarkModel

/// A call that a server's directory answers.
protocol DirectoryCall: AdministrationCall where Piece == Never {
    /// Answers the call.
    func answer(from directory: Directory) async throws -> Answer
}

extension DirectoryCall {
    /// The handler of the call, as a `CallHandler`.
    fileprivate static var handler: any Sendable {
        CallHandler<Directory, Self> { call, directory, _ in
            try await call.answer(from: directory)
        }
    }
}

/// The calls that a directory answers.
enum DirectoryCalls {
    /// All of them.
    static let all: [any DirectoryCall.Type] = [
        AdministrationRequest.self, AddAdministratorCall.self, AdministratorsCall.self,
        RevokeAdministratorCall.self, AdministrationRecordsCall.self,
    ]
}

/// The administration of a server: of its store, and of its credentials.
public struct ServerAdministration: AdministrationService {
    private let store: StoreAdministration
    private let directory: @Sendable () async throws -> Directory
    /// The directory of a server that runs.
    private let served: Directory?
    /// Ends the posting of webhooks that were removed.
    private let endWebhooks: @Sendable () async throws -> Void

    /// Creates the administration of a store that no server has open.
    ///
    /// Its directory is created by the first call that needs it.
    public init(of store: StoreAdministration) {
        self.store = store
        directory = { try await Directory(of: store.store, at: store.path) }
        served = nil
        endWebhooks = {}
    }

    /// The administration of a server that runs, whose webhooks `endWebhooks` ends once they are
    /// removed.
    init(
        of store: StoreAdministration,
        _ directory: Directory,
        endWebhooks: @escaping @Sendable () async throws -> Void
    ) {
        self.store = store
        self.directory = { directory }
        served = directory
        self.endWebhooks = endWebhooks
    }

    /// See `AdministrationService`.
    ///
    /// While a server runs, commands write by its socket and read the files. The next command sees
    /// what this one has written.
    public func answer<Call: AdministrationCall>(
        _ call: Call,
        report: @escaping @Sendable (UInt64, UInt64) -> Void,
        receive: (Call.Piece) async throws -> Void
    ) async throws -> Call.Answer {
        guard let type = Call.self as? any DirectoryCall.Type,
            let handler = type.handler as? CallHandler<Directory, Call>
        else {
            let user = (call as? ErasureCall).flatMap { $0.isDryRun ? nil : $0.subject.user }
            // Credentials in memory would let the user in after their records are erased.
            if let user, let served {
                try await served.removeCredentials(of: user)
                // A webhook that still posts would name the user after the erasure, and it may have
                // recorded its position since it was removed.
                try await endWebhooks()
                try await served.removeCredentials(of: user)
            }
            let answer = try await store.answer(call, report: report, receive: receive)
            // An issuer's token may have brought the account back meanwhile.
            if let user { served?.forget(user) }
            await letOthersRead()
            return answer
        }
        let answer = try await handler.answer(call, try await directory(), receive)
        await letOthersRead()
        return answer
    }

    private func letOthersRead() async {
        // There is none if the store stayed closed after an erasure.
        guard let store = try? store.store else { return }
        await store.letOthersRead()
    }
}

/// A request about tokens, keys, accounts and sessions.
extension AdministrationRequest: DirectoryCall {
    /// See `AdministrationCall`.
    public static let name = "directory"
    /// See `AdministrationCall`.
    public var writes: Bool {
        switch self {
        case .tokens, .keys, .accounts, .sessions, .webhooks, .containers: false
        default: true
        }
    }
    /// See `AdministrationCall`.
    public typealias Answer = AdministrationAnswer

    /// The request without a password.
    public var recorded: AdministrationRequest {
        switch self {
        case .addAccount(let email, _, let givenName, let familyName):
            .addAccount(
                email: email,
                password: "",
                givenName: givenName,
                familyName: familyName
            )
        case .setPassword(_, let account): .setPassword("", account: account)
        // The record stays in the store, and must not have the address of an account that is gone.
        case .removeAccount: .removeAccount("")
        // A token may be named by its text.
        case .revokeToken(let token): .revokeToken(APIToken.recordName(of: token).text)
        default: self
        }
    }

    func answer(from directory: Directory) async throws -> AdministrationAnswer {
        try await directory.answer(self)
    }
}
#endif
