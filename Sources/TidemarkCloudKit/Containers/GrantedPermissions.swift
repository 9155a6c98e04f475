// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TidemarkModel

/// The permissions that the users of a device have granted; kept across restarts.
struct GrantedPermissions: Sendable {
    private let granted: KeptValues

    init(_ folder: DeviceFolder) {
        granted = KeptValues("permissions", in: folder)
    }

    /// Returns true if all of some permissions were granted.
    func isGranted(_ permissions: CKContainer.ApplicationPermissions, to caller: Caller) -> Bool {
        bits(of: caller).isSuperset(of: permissions)
    }

    /// Records that permissions were granted.
    func grant(_ permissions: CKContainer.ApplicationPermissions, to caller: Caller) {
        let all = bits(of: caller).union(permissions)
        granted.change { $0[caller.placeName] = Data(String(all.rawValue).utf8) }
    }

    private func bits(of caller: Caller) -> CKContainer.ApplicationPermissions {
        let text = granted[caller.placeName].map { String(decoding: $0, as: UTF8.self) }
        return .init(rawValue: text.flatMap { .init($0) } ?? 0)
    }
}
