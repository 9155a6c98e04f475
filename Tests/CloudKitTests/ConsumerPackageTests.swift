// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// A package of its own that uses the product `CloudKit`, in Swift's two language modes.
///
/// It takes minutes, since everything is built once more: `tools/test --long`.
@Suite(.enabled(if: runsLongTests, "takes minutes"))
struct ConsumerPackageTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// The tests of each mode, as they are, in a package that knows nothing of this one but its product.
    private static let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription

        let products: [Target.Dependency] = [
            .product(name: "CloudKit", package: "\(package)"),
            .product(name: "CloudKitShims", package: "\(package)"),
        ]
        let package = Package(
            name: "consumer",
            dependencies: [.package(path: "\(root.path)", traits: ["Shims"])],
            targets: [
                .testTarget(
                    name: "ConsumerSwift5Tests",
                    dependencies: products,
                    swiftSettings: [.swiftLanguageMode(.v5), .define("Shims")]
                ),
                .testTarget(
                    name: "ConsumerSwift6Tests",
                    dependencies: products,
                    swiftSettings: [.swiftLanguageMode(.v6), .define("Shims")]
                ),
            ]
        )

        """

    /// A test that runs only where a server is set, which this package has no client for.
    private static let serverTest = """
        import CloudKit
        import Foundation
        import Testing

        @Test(.enabled(if: ProcessInfo.processInfo.environment["TIDEMARK_URL"] != nil))
        func saysThatTheClientIsMissing() async throws {
            do {
                _ = try await CKContainer.default().privateCloudDatabase.allRecordZones()
                Issue.record("a server was asked without the client")
            } catch let error as CKError {
                #expect(error.code == .missingEntitlement)
                #expect(error.localizedDescription.contains("trait Client"))
            }
        }

        """

    /// A package in a folder is known by the folder's name.
    private static var package: String { root.lastPathComponent.lowercased() }

    @Test func `A package builds and runs CloudKit code in Swift 5 and 6`() throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url.appending(path: "consumer")
        for mode in ["5", "6"] {
            let copies = folder.appending(path: "Tests/ConsumerSwift\(mode)Tests")
            try FileManager.default.createDirectory(
                at: copies,
                withIntermediateDirectories: true
            )
            let tests = Self.root.appending(path: "Tests/CloudKitSwift\(mode)Tests")
            for file in try FileManager.default.contentsOfDirectory(
                at: tests,
                includingPropertiesForKeys: nil
            ) where file.pathExtension == "swift" {
                try Data(contentsOf: file)
                    .write(to: copies.appending(path: file.lastPathComponent))
            }
        }
        try Data(Self.serverTest.utf8)
            .write(to: folder.appending(path: "Tests/ConsumerSwift6Tests/ServerTest.swift"))
        try Data(Self.manifest.utf8).write(to: folder.appending(path: "Package.swift"))
        // The same versions of what both need.
        try FileManager.default.copyItem(
            at: Self.root.appending(path: "Package.resolved"),
            to: folder.appending(path: "Package.resolved")
        )

        let (status, text) = try swift(["test", "--disable-xctest"], in: folder)
        #expect(status == 0, "\(text.suffix(4000))")
        #expect(text.contains("passed after"), "\(text.suffix(4000))")
        for mode in ["Swift5", "Swift6"] { #expect(text.contains("Consumer\(mode)Tests")) }

        let name = "saysThatTheClientIsMissing"
        let (failed, said) = try swift(
            ["test", "--disable-xctest", "--skip-build", "--filter", name],
            in: folder,
            with: ["TIDEMARK_URL": "http://127.0.0.1:1", "TIDEMARK_API_TOKEN": "token"]
        )
        #expect(failed == 0, "\(said.suffix(4000))")
        #expect(said.contains("Test \(name)() passed"), "\(said.suffix(4000))")
    }

    @Test(arguments: ["", "Shims", "Observing", "Client", "Server"])
    func `A package resolves only the dependencies that its traits need`(
        trait: String
    ) throws {
        let scratch = try ScratchFolder()
        let folder = scratch.url.appending(path: "consumer")
        for mode in ["5", "6"] {
            try FileManager.default.createDirectory(
                at: folder.appending(path: "Tests/ConsumerSwift\(mode)Tests"),
                withIntermediateDirectories: true
            )
        }
        let traits = trait.isEmpty ? "" : ", traits: [\"\(trait)\"]"
        let manifest = Self.manifest.replacing(#", traits: ["Shims"]"#, with: traits)
        try Data(manifest.utf8).write(to: folder.appending(path: "Package.swift"))
        let (status, text) = try swift(["package", "resolve"], in: folder)
        #expect(status == 0, "\(text.suffix(4000))")
        let resolved = try String(
            contentsOf: folder.appending(path: "Package.resolved"),
            encoding: .utf8
        )
        #expect(resolved.contains("swift-crypto"))
        #expect(resolved.lowercased().contains("opencombine") == (trait == "Shims"))
        for package in ["hummingbird", "jwt-kit"] {
            #expect(resolved.contains("\"\(package)\"") == (trait == "Server"), "\(package)")
        }
        let sends = ["Client", "Server"].contains(trait)
        for package in ["async-http-client", "swift-nio", "swift-async-algorithms"] {
            #expect(resolved.contains("\"\(package)\"") == sends, "\(package)")
        }
        let observes = ["Observing", "Server"].contains(trait)
        #expect(resolved.contains("\"swift-metrics\"") == observes)
        // async-http-client needs these two as well.
        for package in ["swift-log", "swift-distributed-tracing"] {
            #expect(resolved.contains("\"\(package)\"") == (observes || sends), "\(package)")
        }
    }

    /// Runs a command of Swift's in a package; gives its status and what it wrote.
    private func swift(
        _ arguments: [String],
        in folder: URL,
        with variables: [String: String] = [:]
    ) throws -> (Int32, String) {
        let log = folder.appending(path: "log.txt")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let output = try FileHandle(forWritingTo: log)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.environment = ProcessInfo.processInfo.environment.merging(variables) { $1 }
        process.arguments = ["swift"] + arguments + ["--package-path", folder.path]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        try output.close()
        return (
            process.terminationStatus, String(decoding: try Data(contentsOf: log), as: UTF8.self)
        )
    }
}
