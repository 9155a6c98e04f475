// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ServiceConformance
import TestSupport
import Testing
import Tidemark
import TidemarkModel
import TidemarkWire

/// The ways to a store on which one suite checks what a `DatabaseService` promises.
enum ServiceHost: CaseIterable, CustomTestStringConvertible {
    case store, bytes, records, lossy

    var testDescription: String {
        switch self {
        case .store: "the store itself"
        case .bytes: "through bytes"
        case .records: "through bytes, with records as their bytes"
        case .lossy: "through bytes, where two of five connections are lost"
        }
    }

    /// Opens a store, and the services of its users.
    func open(options: StoreOptions = StoreOptions()) throws -> HostedStore {
        try HostedStore(self, options: options)
    }
}

/// A store on which a suite runs, and each user's way to it.
final class HostedStore: ServiceHosting {
    let store: Store
    private let folder: ScratchFolder
    private let host: ServiceHost
    let losses: Losses

    init(_ host: ServiceHost, options: StoreOptions) throws {
        self.host = host
        var options = options
        options.requiresAuthentication = host != .store
        folder = try ScratchFolder()
        store = try Store.open(at: folder.path(), access: .creating, options: options)
        losses = Losses(seed: 1, percent: host == .lossy ? 40 : 0)
    }

    deinit {
        try? store.close()
    }

    func user(_ name: String) -> UserID { UserID(name) }

    func service(of name: String) -> any DatabaseService {
        switch host {
        case .store: store
        case .bytes, .records, .lossy:
            RemoteService(
                over: InProcessTransport(
                    service: store,
                    user: user(name),
                    losses: losses,
                    form: host == .records ? .records : .json
                ),
                patience: Patience(repetitions: 100, wait: { _ in await Task.yield() })
            )
        }
    }
}
