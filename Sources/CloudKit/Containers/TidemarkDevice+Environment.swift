// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tidemark

extension TidemarkDevice {
    /// The process's own device where the program has not said anything: what the environment says, or
    /// a store in the user's data folder.
    ///
    /// - `TIDEMARK_STORE`: the path of a store.
    /// - `TIDEMARK_USER`: the name of the signed-in user's record; empty for nobody.
    /// - `TIDEMARK_USER_NAMES`: `same` for one name of the user in all containers, instead of one in each.
    /// - `TIDEMARK_URL`: kept for a server; refused by now.
    static func fromEnvironment(_ environment: [String: String]) -> TidemarkDevice {
        let user = environment["TIDEMARK_USER"] ?? CKCurrentUserDefaultName
        return TidemarkDevice(cloud(environment), user: user.isEmpty ? nil : user)
    }

    private static func cloud(_ environment: [String: String]) -> TidemarkCloud {
        if let url = environment["TIDEMARK_URL"] {
            let error = SyncError(
                .serviceUnavailable,
                "TIDEMARK_URL names the server \(url), and there is no client for servers yet; unset "
                    + "it, and name a store by TIDEMARK_STORE."
            )
            return TidemarkCloud(.nowhere(error))
        }
        return TidemarkCloud(
            storeAt: environment["TIDEMARK_STORE"] ?? dataPath(environment),
            userNames: userNames(environment["TIDEMARK_USER_NAMES"])
        )
    }

    private static func userNames(_ name: String?) -> TidemarkCloud.UserNames {
        guard let name else { return .perContainer }
        guard let names = TidemarkCloud.UserNames(rawValue: name) else {
            preconditionFailure(
                "TIDEMARK_USER_NAMES is '\(name)'; set it to 'same' or 'perContainer', or unset it."
            )
        }
        return names
    }

    /// `$XDG_DATA_HOME/PROGRAM/cloudkit.tide`: each program has its own, as each app has on Apple's
    /// systems, and no other program keeps it from writing.
    private static func dataPath(_ environment: [String: String]) -> String {
        func path(_ name: String) -> String? {
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        // Foundation asks the system's list of users, whatever HOME says.
        let home = (path("HOME") ?? NSHomeDirectory()) + "/.local/share"
        let folder = path("XDG_DATA_HOME") ?? home
        return "\(folder)/\(ProcessInfo.processInfo.processName)/cloudkit.tide"
    }
}
