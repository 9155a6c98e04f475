// swift-tools-version: 6.2
// What the server is measured against: a package of its own, because the other benchmarks need no HTTP.

import PackageDescription

/// The name by which SwiftPM knows Tidemark's package: its folder's, in small letters.
let project = String(
    Context.packageDirectory.split(separator: "/").dropLast(2).last ?? "tidemark"
).lowercased()

let package = Package(
    name: "tidemark-serving",
    platforms: [.macOS(.v26)],
    products: [.executable(name: "tidemark-serving", targets: ["TidemarkServing"])],
    dependencies: [
        .package(name: "tidemark", path: "../..", traits: ["Client"]),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            from: "2.28.0",
            traits: []
        ),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
    ],
    targets: [
        .executableTarget(
            name: "TidemarkServing",
            dependencies: [
                .product(name: "Tidemark", package: "tidemark"),
                .product(name: "TidemarkClient", package: "tidemark"),
                .product(name: "CloudKit", package: "tidemark"),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
                .product(name: "AsyncHTTPClient", package: "async-http-client"),
                .product(name: "Hummingbird", package: "hummingbird"),
            ],
            packageAccess: false,
            swiftSettings: [
                .swiftLanguageMode(.v6),
                .enableUpcomingFeature("ExistentialAny"),
                .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
                .treatAllWarnings(as: .error),
                .treatWarning("DeprecatedDeclaration", as: .warning),
                // The floor uses the JSON reader of the server, which is no public interface.
                .unsafeFlags(["-package-name", project]),
            ]
        )
    ]
)
