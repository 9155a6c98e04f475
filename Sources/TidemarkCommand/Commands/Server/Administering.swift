// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Server
import Tidemark
import TidemarkModel
import TidemarkServer

extension WrittenStoreArgument {
    /// Asks about tokens, keys, accounts and sessions.
    @discardableResult
    func administer(_ request: AdministrationRequest) async throws -> AdministrationAnswer {
        // A mistyped path in a command that lists or removes must not become a store.
        try await administer(
            request.adds ? .creating : request.lists ? .reading : .writing,
            request
        )
    }

    /// Performs a call that returns one answer.
    @discardableResult
    func administer<Call: AdministrationCall>(
        _ access: StoreAccess,
        _ call: Call
    ) async throws -> Call.Answer where Call.Piece == Never {
        var answer: Call.Answer?
        try await administer(access) { service in answer = try await service.answer(call) }
        guard let answer else {
            throw CommandError("The server sent no answer. Repeat the command.")
        }
        return answer
    }
}

extension AdministrationRequest {
    /// True for a request that makes sense for a store that does not exist yet.
    fileprivate var adds: Bool {
        switch self {
        case .makeToken, .addKey, .addAccount, .addWebhook: true
        default: false
        }
    }

    /// True for a request that changes nothing.
    fileprivate var lists: Bool {
        switch self {
        case .tokens, .keys, .accounts, .sessions, .webhooks, .containers: true
        default: false
        }
    }
}
#endif
