// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

#if TidemarkName
@testable import TidemarkCloudKit
#else
import CloudKit
@testable import TidemarkCloudKit
#endif

/// A cloud of one test, with as many devices of as many users as it wants.
///
/// It is a store of its own. Under `tidemark exec` it is the server that the environment names, which
/// is emptied first: one user is signed in there, and tests run one after another.
struct CloudFixture {
    private static let environment = ProcessInfo.processInfo.environment
    /// The server's address, under `tidemark exec`.
    static let address = environment["TIDEMARK_URL"]

    #if !TidemarkName
    let cloud = TidemarkCloud.temporary(userNames: .same)
    #endif
    private let name = UUID().uuidString

    init() {
        if let address = Self.address { Self.emptyServer(at: address) }
    }

    private static func emptyServer(at address: String) {
        let curl = Process()
        curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        curl.arguments = ["curl", "-sfo", "/dev/null", "-X", "POST", address + "/tidemark/1/reset"]
        do {
            try curl.run()
        } catch {
            preconditionFailure("curl cannot be run: \(error)")
        }
        curl.waitUntilExit()
        precondition(curl.terminationStatus == 0, "\(address) is no server of `tidemark exec`.")
    }

    func device(_ name: String, of user: String? = "anna") -> TidemarkDevice {
        #if !TidemarkName
        guard Self.address != nil else {
            return TidemarkDevice(
                cloud,
                user: user,
                name: name,
                defaultContainer: "iCloud.example.notes"
            )
        }
        #endif
        // What the program of such a device has in its environment.
        var environment = Self.environment
        environment["TIDEMARK_DEVICE"] = name
        environment["XDG_DATA_HOME", default: NSTemporaryDirectory()] += "/\(self.name)"
        if user == nil { environment["TIDEMARK_WEB_AUTH_TOKEN"] = nil }
        return TidemarkDevice.fromEnvironment(environment)
    }

    func container(on name: String, of user: String = "anna") -> CKContainer {
        device(name, of: user).container()
    }

    /// The private database of a user's phone, with a zone in it.
    func database(zone: CKRecordZone.ID? = nil) async throws -> CKDatabase {
        let database = container(on: "phone").privateCloudDatabase
        if let zone { _ = try await database.save(CKRecordZone(zoneID: zone)) }
        return database
    }
}

extension Trait where Self == ConditionTrait {
    /// The module TidemarkCloudKit has no stores, so its scenarios run under `tidemark exec` alone.
    static var needsCloud: Self {
        #if TidemarkName
        return .enabled(if: CloudFixture.address != nil, "needs the server of `tidemark exec`")
        #else
        return .enabled(if: true)
        #endif
    }

    /// One user is signed in under `tidemark exec`.
    static var needsTwoUsers: Self {
        .enabled(if: CloudFixture.address == nil, "needs two users")
    }
}

/// What callbacks hand over to a test.
final class Heard<Item: Sendable>: @unchecked Sendable {
    // Behind the lock.
    private var list: [Item] = []
    private let lock = NSLock()

    func add(_ item: Item) {
        lock.withLock { list.append(item) }
    }

    var items: [Item] { lock.withLock { list } }

    /// Waits until so many items have come; ends the test if they do not.
    func wait(for count: Int, sourceLocation: SourceLocation = #_sourceLocation) async throws {
        for _ in 0..<6000 {
            if items.count >= count { return }
            try await Task.sleep(for: .milliseconds(10))
        }
        try #require(items.count >= count, "waited for a minute", sourceLocation: sourceLocation)
    }
}

/// Gives closures the kind of operation that they are about, which an extension of a class cannot.
protocol RunOperation: CKOperation {}

extension CKOperation: RunOperation {}

extension RunOperation {
    /// Adds the operation by a closure and waits until it has ended.
    func run(_ add: (Self) -> Void) async {
        await withCheckedContinuation { continuation in
            completionBlock = { continuation.resume() }
            add(self)
        }
    }
}

/// The code of the CloudKit error that a body throws; `nil` if it throws none.
func code(_ body: () async throws -> Void) async -> CKError.Code? {
    do {
        try await body()
        return nil
    } catch {
        return (error as? CKError)?.code
    }
}

extension Result {
    var error: Failure? {
        if case .failure(let error) = self { error } else { nil }
    }
}
