// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
public import Tidemark
public import TidemarkCloudKit

extension TidemarkCloud {
    /// Creates a cloud for a store on disk, and creates the store if it does not exist.
    ///
    /// Only one process at a time writes a store. If another one has it open, the first call waits
    /// for up to five seconds, and then fails with `serviceUnavailable` and a time after which to
    /// retry.
    public convenience init(
        storeAt path: String,
        options: StoreOptions = StoreOptions(),
        userNames: UserNames = .perContainer
    ) {
        let store = EmbeddedStore(
            path: path,
            options: options,
            isTemporary: false,
            userNames: userNames
        )
        self.init(.source(store), userNames: userNames)
    }

    /// Creates a cloud for a new store in the folder for temporary files, for tests.
    ///
    /// The store is removed when it is closed, when its devices and containers are gone, or when
    /// the process exits. If a process is killed, the next process removes its stores.
    ///
    /// Unless `options` say otherwise, nothing waits for the disk.
    public static func temporary(
        options: StoreOptions? = nil,
        userNames: UserNames = .perContainer
    ) -> TidemarkCloud {
        var quick = StoreOptions()
        quick.durability = .none
        AbandonedStores.sweepOnce
        let path = AbandonedStores.newPath(in: NSTemporaryDirectory())
        // Before the store exists, so that an exit at any time removes it.
        TemporaryPaths.ofProcess.add(path)
        let store = EmbeddedStore(
            path: path,
            options: options ?? quick,
            isTemporary: true,
            userNames: userNames
        )
        return TidemarkCloud(.source(store), userNames: userNames)
    }
}

/// The stores of this process, for the default device of a program.
private final class StoresOfProcess: EmbeddedStores {
    func cloud(storeAt path: String, userNames: TidemarkCloud.UserNames) -> TidemarkCloud {
        TidemarkCloud(storeAt: path, userNames: userNames)
    }
}

/// Creates the object that `TidemarkCloudKit` looks up by this name; see `CDefaultCloud`.
@_cdecl("tidemark_cloudkit_embedded_stores")
public func makeEmbeddedStores() -> UnsafeMutableRawPointer {
    Unmanaged.passRetained(StoresOfProcess()).toOpaque()
}
