// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// A package of its own that uses the product `CloudKit`, in Swift's two language modes.
///
/// It takes minutes, since everything is built once more: `tools/test --long`.
@Suite(.enabled(if: ProcessInfo.processInfo.environment["TIDEMARK_LONG"] != nil, "takes minutes"))
struct ConsumerPackageTests {
    private static let root = URL(filePath: #filePath).appending(path: "../../..").standardized

    /// The tests of each mode, as they are, in a package that knows nothing of this one but its product.
    private static let manifest = """
        // swift-tools-version: 6.2
        import PackageDescription

        let cloudKit = Target.Dependency.product(name: "CloudKit", package: "\(package)")
        let package = Package(
            name: "consumer",
            dependencies: [.package(path: "\(root.path)")],
            targets: [
                .testTarget(
                    name: "ConsumerSwift5Tests",
                    dependencies: [cloudKit],
                    swiftSettings: [.swiftLanguageMode(.v5)]
                ),
                .testTarget(
                    name: "ConsumerSwift6Tests",
                    dependencies: [cloudKit],
                    swiftSettings: [.swiftLanguageMode(.v6)]
                ),
            ]
        )

        """

    /// A package in a folder is known by the folder's name.
    private static var package: String { root.lastPathComponent.lowercased() }

    @Test func `a package builds and runs CloudKit code in Swift 5 and 6`() throws {
        let folder = FileManager.default.temporaryDirectory
            .appending(path: "consumer-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
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
        try Data(Self.manifest.utf8).write(to: folder.appending(path: "Package.swift"))
        // The same versions of what both need.
        try FileManager.default.copyItem(
            at: Self.root.appending(path: "Package.resolved"),
            to: folder.appending(path: "Package.resolved")
        )

        let log = folder.appending(path: "log.txt")
        _ = FileManager.default.createFile(atPath: log.path, contents: nil)
        let output = try FileHandle(forWritingTo: log)
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = ["swift", "test", "--disable-xctest", "--package-path", folder.path]
        process.standardOutput = output
        process.standardError = output
        try process.run()
        process.waitUntilExit()
        try output.close()
        let text = String(decoding: try Data(contentsOf: log), as: UTF8.self)
        #expect(process.terminationStatus == 0, "\(text.suffix(4000))")
        #expect(text.contains("passed after"), "\(text.suffix(4000))")
        for mode in ["Swift5", "Swift6"] { #expect(text.contains("Consumer\(mode)Tests")) }
    }
}
