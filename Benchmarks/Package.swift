// swift-tools-version: 6.2
// Tidemark's benchmarks: a package of its own, so that nobody who uses Tidemark resolves it.

import PackageDescription

let everywhere: [SwiftSetting] = [
    .swiftLanguageMode(.v6),
    .enableUpcomingFeature("ExistentialAny"),
    .enableUpcomingFeature("MemberImportVisibility"),
    .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
    .treatAllWarnings(as: .error),
    .treatWarning("DeprecatedDeclaration", as: .warning),
]

/// The name by which the package manager knows the package above: its folder's, in small letters.
///
/// Declarations with `package` access are visible to targets that are compiled under it, which is
/// how parts of the engine are measured that no app can reach.
let project = String(
    Context.packageDirectory.split(separator: "/").dropLast().last ?? "tidemark"
).lowercased()

let inside = everywhere + [.unsafeFlags(["-package-name", project])]

let package = Package(
    name: "tidemark-benchmarks",
    platforms: [.macOS(.v15)],
    products: [
        .executable(name: "tidemark-bench", targets: ["TidemarkBench"]),
        .executable(name: "tidemark-drive", targets: ["TidemarkDrive"]),
    ],
    dependencies: [
        .package(name: "tidemark", path: ".."),
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/ordo-one/benchmark", from: "1.38.1", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CSQLite",
            pkgConfig: "sqlite3",
            providers: [.apt(["libsqlite3-dev"]), .brew(["sqlite"])]
        ),
        .systemLibrary(
            name: "CRocksDB",
            pkgConfig: "rocksdb",
            providers: [.apt(["librocksdb-dev"]), .brew(["rocksdb"])]
        ),
        .target(name: "CAllocations"),
        .target(name: "Workload", swiftSettings: everywhere),
        .target(
            name: "Contenders",
            dependencies: [
                "Workload", "CSQLite", "CRocksDB",
                .product(name: "Tidemark", package: "tidemark"),
            ],
            packageAccess: false,
            swiftSettings: inside
        ),
        .executableTarget(
            name: "TidemarkBench",
            dependencies: [
                "Workload", "Contenders",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            packageAccess: false,
            swiftSettings: inside
        ),
        .target(
            name: "HotPaths",
            dependencies: [
                "Workload", "CAllocations", .product(name: "Tidemark", package: "tidemark"),
                .product(name: "TidemarkReplay", package: "tidemark"),
            ],
            packageAccess: false,
            swiftSettings: inside
        ),
        .executableTarget(
            name: "TidemarkDrive",
            dependencies: [
                "HotPaths", "CAllocations",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            packageAccess: false,
            swiftSettings: inside,
            // valgrind 3.19 gives up on debug information of DWARF 5.
            linkerSettings: [
                .unsafeFlags(["-Xlinker", "--strip-debug"], .when(platforms: [.linux]))
            ]
        ),
        .executableTarget(
            name: "HotPathSuite",
            dependencies: ["HotPaths", .product(name: "Benchmark", package: "benchmark")],
            path: "Benchmarks/HotPathSuite",
            packageAccess: false,
            swiftSettings: inside,
            plugins: [.plugin(name: "BenchmarkPlugin", package: "benchmark")]
        ),
        .testTarget(
            name: "WorkloadTests",
            dependencies: ["Workload", "Contenders"],
            packageAccess: false,
            swiftSettings: inside
        ),
    ]
)
