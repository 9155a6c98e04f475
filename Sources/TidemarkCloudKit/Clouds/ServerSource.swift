// Tidemark
// SPDX-License-Identifier: Apache-2.0

#if Client
import Foundation
public import TidemarkClient
import TidemarkLock
public import TidemarkModel

extension TidemarkCloud {
    /// Creates a cloud for a server, such as `https://sync.example.org`.
    ///
    /// Containers belong to the API token: it opens one container in one environment. Private and
    /// shared databases require the web auth token of a user who has signed in; the device's user
    /// is that user. Nothing is sent before the first request. `devicesIn` is the folder for the
    /// state of devices; without it, the state ends with the process. `options` has the proxy, the
    /// certificates and the time limits, and gets each new web auth token.
    public convenience init(
        serverAt address: String,
        apiToken: String,
        webAuthToken: String? = nil,
        environment: TidemarkModel.Environment = .development,
        devicesIn folder: String? = nil,
        options: ConnectionOptions = ConnectionOptions()
    ) {
        self.init(
            .source(
                ServerSource(
                    address: address,
                    apiToken: apiToken,
                    webAuthToken: webAuthToken.flatMap { $0.isEmpty ? nil : $0 },
                    environment: environment,
                    folder: folder,
                    options: options
                )
            )
        )
    }
}

/// A server as the source of a cloud, over HTTP.
final class ServerSource: CloudSource {
    let address: String
    let apiToken: String
    let webAuthToken: String?
    let environment: TidemarkModel.Environment
    let folder: String?
    private let options: ConnectionOptions
    /// The connection of the service that was opened.
    private let connection = Lock<ServerConnection?>(nil)

    init(
        address: String,
        apiToken: String,
        webAuthToken: String?,
        environment: TidemarkModel.Environment,
        folder: String?,
        options: ConnectionOptions
    ) {
        self.address = address
        self.apiToken = apiToken
        self.webAuthToken = webAuthToken
        self.environment = environment
        self.folder = folder
        self.options = options
    }

    var title: String { "server at \(address)" }

    /// The folder of this server and token: the state of a device is only valid for one server.
    var deviceFolder: URL? {
        folder.map { folder in
            // FNV-1a: the same in every process, unlike Swift's own hashes.
            let hash = "\(address) \(apiToken)".utf8.reduce(0xcbf2_9ce4_8422_2325 as UInt64) {
                ($0 ^ UInt64($1)) &* 0x100_0000_01b3
            }
            return URL(fileURLWithPath: folder, isDirectory: true)
                .appendingPathComponent("servers", isDirectory: true)
                .appendingPathComponent(String(hash, radix: 16), isDirectory: true)
        }
    }

    func open() async -> Result<any DatabaseService, SyncError> {
        do throws(SyncError) {
            let credentials: Credentials =
                webAuthToken.map { .user(apiToken: apiToken, webAuthToken: $0) }
                ?? .apiToken(apiToken)
            let made = try ServerConnection(
                to: address,
                credentials: credentials,
                options: options
            )
            connection.withLock { $0 = made }
            return .success(made.service)
        } catch {
            return .failure(error)
        }
    }

    func close(_ service: any DatabaseService) async {
        await connection.withLock { $0 }?.close()
    }

    func remove() {}

    /// Returns the name of the signed-in user, as the server reports it.
    func user(
        _ account: UserID,
        in container: ContainerID,
        asking service: () async throws(SyncError) -> any DatabaseService
    ) async throws(SyncError) -> UserID {
        // `__defaultOwner__` is the user of the token, whose name only the server knows. Any other
        // name is the program's own choice.
        guard account == .current else { return account }
        let database = DatabaseID(
            container: container,
            environment: environment,
            scope: .private,
            owner: .current
        )
        let caller = Caller(database: database, user: .current, device: nil, build: nil)
        return try await service().currentUser(as: caller)
    }
}
#endif
