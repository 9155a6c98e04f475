// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CDefaultCloud
import Foundation
import TidemarkModel

extension TidemarkDevice {
    /// Returns the default device of a process, for a program that has not set one.
    ///
    /// These variables of the environment determine it. Without them, it uses a store in the user's
    /// data folder.
    ///
    /// - `TIDEMARK_URL`: the address of a server, with `TIDEMARK_API_TOKEN`, and
    ///   `TIDEMARK_WEB_AUTH_TOKEN` for a user who has signed in. It takes precedence over a store.
    /// - `TIDEMARK_CONTAINER`: the identifier of `CKContainer.default()`.
    /// - `TIDEMARK_ENVIRONMENT`: `production` for the production environment of containers.
    /// - `TIDEMARK_DEVICE`: the device's name, if not that of the machine.
    /// - `TIDEMARK_STORE`: the path of a store.
    /// - `TIDEMARK_USER`: the name of the signed-in user's record in a store; empty if nobody is
    ///   signed in.
    /// - `TIDEMARK_USER_NAMES`: `same` for one name of the user in all containers, instead of one in
    ///   each.
    static func fromEnvironment(_ environment: [String: String]) -> TidemarkDevice {
        let container = environment["TIDEMARK_CONTAINER"] ?? ContainerID.standard.identifier
        let name = environment["TIDEMARK_DEVICE"] ?? ProcessInfo.processInfo.hostName
        let containerEnvironment: TidemarkModel.Environment =
            choice("TIDEMARK_ENVIRONMENT", of: "'development' or 'production'", in: environment)
            ?? .development
        if let address = environment["TIDEMARK_URL"] {
            // The token names the user. The user's record name is looked up at the server
            // (`ServerSource.user`).
            let isSignedIn = environment["TIDEMARK_WEB_AUTH_TOKEN"]?.isEmpty == false
            return TidemarkDevice(
                server(address, containerEnvironment, environment),
                user: isSignedIn ? CKCurrentUserDefaultName : nil,
                name: name,
                environment: containerEnvironment,
                defaultContainer: container
            )
        }
        let user = environment["TIDEMARK_USER"] ?? CKCurrentUserDefaultName
        return TidemarkDevice(
            store(environment),
            user: user.isEmpty ? nil : user,
            name: name,
            environment: containerEnvironment,
            defaultContainer: container
        )
    }

    /// Returns the value of a variable that has one of a few; `nil` if it is not set.
    private static func choice<Value: RawRepresentable<String>>(
        _ variable: String,
        of choices: String,
        in environment: [String: String]
    ) -> Value? {
        guard let text = environment[variable] else { return nil }
        guard let value = Value(rawValue: text) else {
            preconditionFailure("\(variable) is '\(text)'; set it to \(choices), or unset it.")
        }
        return value
    }

    private static func server(
        _ address: String,
        _ containerEnvironment: TidemarkModel.Environment,
        _ environment: [String: String]
    ) -> TidemarkCloud {
        guard let token = environment["TIDEMARK_API_TOKEN"], !token.isEmpty else {
            let error = SyncError(
                .notAuthenticated,
                "TIDEMARK_URL names the server \(address), but TIDEMARK_API_TOKEN is not set. Set "
                    + "it to a token that `tidemark tokens add` printed."
            )
            return TidemarkCloud(.nowhere(error))
        }
        #if Client
        return TidemarkCloud(
            serverAt: address,
            apiToken: token,
            webAuthToken: environment["TIDEMARK_WEB_AUTH_TOKEN"],
            environment: containerEnvironment,
            devicesIn: dataFolder(environment)
        )
        #else
        let error = SyncError(
            .missingEntitlement,
            "TIDEMARK_URL names the server \(address), but this program was built without the "
                + "client for servers. Build it with the trait Client of the package tidemark, or "
                + "unset TIDEMARK_URL."
        )
        return TidemarkCloud(.nowhere(error))
        #endif
    }

    private static func store(_ environment: [String: String]) -> TidemarkCloud {
        guard let made = tidemark_make_embedded_stores() else {
            let error = SyncError(
                .missingEntitlement,
                "This program has no store of its own, and no server is set. Set TIDEMARK_URL to "
                    + "the address of a server, or make a TidemarkDevice and call makeDefault()."
            )
            return TidemarkCloud(.nowhere(error))
        }
        // The function returns a retained object: `makeEmbeddedStores()` of the module CloudKit.
        let object = Unmanaged<AnyObject>.fromOpaque(made).takeRetainedValue()
        guard let stores = object as? any EmbeddedStores else {
            preconditionFailure(
                "The module CloudKit makes another kind of object: both are of one package."
            )
        }
        return stores.cloud(
            storeAt: environment["TIDEMARK_STORE"] ?? "\(dataFolder(environment))/cloudkit.tide",
            userNames: choice(
                "TIDEMARK_USER_NAMES",
                of: "'same' or 'perContainer'",
                in: environment
            )
                ?? .perContainer
        )
    }

    /// Returns `$XDG_DATA_HOME/PROGRAM`.
    ///
    /// Each program has its own folder, as each app has on Apple's systems, so that no other
    /// program locks its store.
    private static func dataFolder(_ environment: [String: String]) -> String {
        func path(_ name: String) -> String? {
            // A relative path is ignored, as the XDG specification requires.
            environment[name].flatMap { $0.hasPrefix("/") ? $0 : nil }
        }
        // Foundation reads the system's list of users, whatever HOME is.
        let home = (path("HOME") ?? NSHomeDirectory()) + "/.local/share"
        let folder = path("XDG_DATA_HOME") ?? home
        return "\(folder)/\(ProcessInfo.processInfo.processName)"
    }
}
