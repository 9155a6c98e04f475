// Tidemark
// SPDX-License-Identifier: Apache-2.0

import CloudKit
import Testing

/// A cloud of one test, with as many devices of as many users as it wants.
struct CloudFixture {
    let cloud = TidemarkCloud.temporary(userNames: .same)

    func device(_ name: String, of user: String? = "anna") -> TidemarkDevice {
        TidemarkDevice(cloud, user: user, name: name, defaultContainer: "iCloud.example.notes")
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
