// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

/// The names of sharing's enumerations on the wire.
extension SharePermission {
    var webName: String {
        switch self {
        case .none: "NONE"
        case .readOnly: "READ_ONLY"
        case .readWrite: "READ_WRITE"
        }
    }

    init?(webName: String) {
        guard let value = Self.allCases.first(where: { $0.webName == webName }) else { return nil }
        self = value
    }
}

extension ShareRole {
    var webName: String {
        switch self {
        case .owner: "OWNER"
        case .administrator: "ADMINISTRATOR"
        case .privateUser: "USER"
        case .publicUser: "PUBLIC_USER"
        }
    }

    init?(webName: String) {
        guard let value = Self.allCases.first(where: { $0.webName == webName }) else { return nil }
        self = value
    }
}

extension ShareAcceptance {
    var webName: String {
        switch self {
        case .pending: "INVITED"
        case .accepted: "ACCEPTED"
        }
    }
}
