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
/// is emptied first. Anna is the user who is signed in there; the fixture signs in others. Tests run
/// one after another.
struct CloudFixture {
    fileprivate static let environment = ProcessInfo.processInfo.environment
    /// The server's address, under `tidemark exec`.
    static let address = environment["TIDEMARK_URL"]

    #if !TidemarkName
    let cloud = TidemarkCloud.temporary(userNames: .same)
    #endif
    private let name = UUID().uuidString
    private let guests = Guests()

    init() {
        if let address = Self.address { _ = curl("-X", "POST", address + "/tidemark/1/reset") }
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
        if user != "anna" {
            environment["TIDEMARK_WEB_AUTH_TOKEN"] = user.map { guests.token(of: $0) }
        }
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

/// The users whom a fixture has signed in at its server.
private final class Guests: @unchecked Sendable {
    // Behind the lock.
    private var tokens: [String: String] = [:]
    private let lock = NSLock()

    /// Returns a user's web auth token; the first call creates an account for `USER@example.org`.
    func token(of user: String) -> String {
        lock.withLock {
            if let known = tokens[user] { return known }
            let made = signUp(user)
            tokens[user] = made
            return made
        }
    }

    /// Sends what a browser sends for a new account (Docs/server.md, "Without a browser").
    private func signUp(_ user: String) -> String {
        let page = (CloudFixture.address ?? "") + "/signin"
        let token = CloudFixture.environment["TIDEMARK_API_TOKEN"] ?? ""
        let form = curl("-o", "/dev/null", "-w", "%{redirect_url}", "\(page)?ckAPIToken=\(token)")
        let answer = curl(
            page,
            "-d",
            "s=\(form.components(separatedBy: "?s=").last ?? "")&new=1&keep=1",
            "--data-urlencode",
            "email=\(user)@example.org",
            "--data-urlencode",
            "password=a long password"
        )
        let parts = answer.components(separatedBy: #"id="token">"#)
        precondition(parts.count == 2, "\(user) could not sign in: \(answer)")
        return String(parts[1].prefix { $0 != "<" })
    }
}

/// Returns what curl prints; ends the tests if it fails.
private func curl(_ arguments: String...) -> String {
    let curl = Process()
    curl.executableURL = URL(fileURLWithPath: "/usr/bin/env")
    curl.arguments = ["curl", "-sf"] + arguments
    let output = Pipe()
    curl.standardOutput = output
    do {
        try curl.run()
    } catch {
        preconditionFailure("curl cannot be run: \(error)")
    }
    let printed = output.fileHandleForReading.readDataToEndOfFile()
    curl.waitUntilExit()
    precondition(
        curl.terminationStatus == 0,
        "\(CloudFixture.address ?? "") is no server of `tidemark exec`: \(arguments)"
    )
    return String(decoding: printed, as: UTF8.self)
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

    /// The condition of tests that act as an operator, or change the user of a device: a store of
    /// the test's own.
    static var needsStore: Self {
        .enabled(if: CloudFixture.address == nil, "needs a store of its own")
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

extension CKOperation: RunOperation {
    /// Waits until it has ended, after which it writes to no folder.
    func hasFinished() async throws {
        while !isFinished { try await Task.sleep(for: .milliseconds(2)) }
    }
}

extension RunOperation {
    /// Adds the operation by a closure and waits until it has ended.
    func run(_ add: (Self) -> Void) async {
        await withCheckedContinuation { continuation in
            completionBlock = { continuation.resume() }
            add(self)
        }
    }
}

extension CKRecord {
    /// Creates a record with a name in a zone.
    convenience init(_ recordType: String, _ name: String, in zone: CKRecordZone.ID) {
        self.init(recordType: recordType, recordID: CKRecord.ID(recordName: name, zoneID: zone))
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

/// Returns what an archive of an object decodes to; ends the test if that is nothing.
func roundTrip<Object: NSObject & NSSecureCoding>(_ object: Object) throws -> Object {
    let data = try NSKeyedArchiver.archivedData(withRootObject: object, requiringSecureCoding: true)
    return try #require(try NSKeyedUnarchiver.unarchivedObject(ofClass: Object.self, from: data))
}
