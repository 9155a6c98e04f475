// swift-tools-version: 6.2
// Tidemark: a self-hosted, embeddable sync engine with CloudKit's model.

import PackageDescription

/// The thread sanitizer reports races for a correct `Mutex`; see `Lock`.
let sanitized: [SwiftSetting] =
    Context.environment["TIDEMARK_TSAN"] == nil ? [] : [.define("TIDEMARK_PTHREAD_LOCK")]

/// Settings of every Swift target: warnings are errors, and imports say what they expose.
let everywhere: [SwiftSetting] =
    sanitized + [
        .swiftLanguageMode(.v6),
        .enableUpcomingFeature("ExistentialAny"),
        .enableUpcomingFeature("NonisolatedNonsendingByDefault"),
        .enableUpcomingFeature("InferIsolatedConformances"),
        .treatAllWarnings(as: .error),
        .treatWarning("DeprecatedDeclaration", as: .warning),
    ]

/// Libraries and the command: an import is part of the reviewed interface only where it says so.
let shipped: [SwiftSetting] = everywhere + [.enableUpcomingFeature("InternalImportsByDefault")]

/// The condition of what only a build with the trait Observing uses.
let observing: TargetDependencyCondition? = .when(traits: ["Observing"])

/// The condition of what only a build with the trait Client uses, which Server includes.
let client: TargetDependencyCondition? = .when(traits: ["Client"])

/// The condition of what only a build with the trait Server uses.
let server: TargetDependencyCondition? = .when(traits: ["Server"])

let package = Package(
    name: "tidemark",
    platforms: [.macOS(.v26), .iOS(.v26)],
    products: [
        .library(name: "Tidemark", targets: ["Tidemark"]),
        .library(name: "TidemarkDatabase", targets: ["TidemarkDatabase"]),
        .library(name: "TidemarkReplay", targets: ["TidemarkReplay"]),
        .library(name: "TidemarkAdministration", targets: ["TidemarkAdministration"]),
        .library(name: "TidemarkWire", targets: ["TidemarkWire"]),
        .library(name: "TidemarkObserving", targets: ["TidemarkObserving"]),
        .library(name: "TidemarkClient", targets: ["TidemarkClient"]),
        .library(name: "TidemarkServer", targets: ["TidemarkServer"]),
        .library(name: "TidemarkTesting", targets: ["TidemarkTesting"]),
        .executable(name: "tidemark", targets: ["TidemarkCommand"]),
    ],
    traits: [
        .trait(
            name: "Shims",
            description:
                "The part of Combine that CloudKit code uses, in the product CloudKitShims."
        ),
        .trait(
            name: "Observing",
            description:
                "Logs, metrics and traces of a store, in the product TidemarkObserving."
        ),
        .trait(
            name: "Client",
            description: "The client of a server, over HTTP: the product TidemarkClient."
        ),
        .trait(
            name: "Server",
            description: "The server: the product TidemarkServer, and `tidemark serve`.",
            enabledTraits: ["Client", "Observing"]
        ),
    ],
    dependencies: [
        .package(url: "https://github.com/apple/swift-argument-parser", from: "1.8.0"),
        .package(url: "https://github.com/groue/GRDB.swift", from: "7.10.0"),
        .package(url: "https://github.com/apple/swift-crypto", "3.12.0"..<"5.0.0"),
        // Without the traits Observing, Client and Server nothing uses these, and SwiftPM does not resolve them.
        .package(url: "https://github.com/apple/swift-log", from: "1.14.0"),
        .package(url: "https://github.com/apple/swift-metrics", from: "2.13.0"),
        .package(url: "https://github.com/apple/swift-distributed-tracing", from: "1.7.0"),
        .package(
            url: "https://github.com/hummingbird-project/hummingbird",
            from: "2.28.0",
            traits: []
        ),
        .package(url: "https://github.com/apple/swift-http-types", from: "1.8.0"),
        .package(url: "https://github.com/apple/swift-nio", from: "2.101.0"),
        .package(url: "https://github.com/apple/swift-nio-ssl", from: "2.37.0"),
        .package(url: "https://github.com/apple/swift-nio-extras", from: "1.35.0"),
        .package(url: "https://github.com/swift-server/async-http-client", from: "1.37.0"),
        .package(url: "https://github.com/apple/swift-async-algorithms", from: "1.1.0"),
        .package(url: "https://github.com/apple/swift-configuration", from: "1.4.0"),
        .package(url: "https://github.com/vapor/jwt-kit", from: "5.7.1"),
        .package(url: "https://github.com/swift-server/swift-service-lifecycle", from: "2.13.0"),
        .package(url: "https://github.com/swiftlang/swift-subprocess", from: "1.0.2", traits: []),
    ],
    targets: [
        .systemLibrary(
            name: "CLZ4",
            pkgConfig: "liblz4",
            providers: [.apt(["liblz4-dev"]), .brew(["lz4"])]
        ),
        .systemLibrary(
            name: "CXXHash",
            pkgConfig: "libxxhash",
            providers: [.apt(["libxxhash-dev"]), .brew(["xxhash"])]
        ),
        .systemLibrary(
            name: "CLMDB",
            pkgConfig: "lmdb",
            providers: [.apt(["liblmdb-dev"]), .brew(["lmdb"])]
        ),
        .systemLibrary(
            name: "CZlib",
            pkgConfig: "zlib",
            providers: [.apt(["zlib1g-dev"]), .brew(["zlib"])]
        ),
        .systemLibrary(name: "CPlatform"),
        .target(name: "TidemarkLock", swiftSettings: shipped),
        .target(name: "TidemarkModel", dependencies: ["CPlatform"], swiftSettings: shipped),
        .target(
            name: "TidemarkLog",
            dependencies: ["TidemarkLock", "CLZ4", "CPlatform", "CXXHash"],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkQuery",
            dependencies: [
                "TidemarkModel", "TidemarkLock",
                .product(name: "GRDB", package: "GRDB.swift"),
                .product(name: "GRDBSQLite", package: "GRDB.swift"),
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkEvents",
            dependencies: ["TidemarkModel", "TidemarkLog"],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkViews",
            dependencies: [
                "TidemarkEvents", "TidemarkModel", "TidemarkLog", "TidemarkLock", "CLMDB",
                "CPlatform",
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkRules",
            dependencies: ["TidemarkEvents", "TidemarkModel", "TidemarkLog", "CPlatform"],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkDatabase",
            dependencies: ["TidemarkModel"],
            swiftSettings: shipped
        ),
        .target(
            name: "Tidemark",
            dependencies: [
                "TidemarkDatabase", "TidemarkModel", "TidemarkLog", "TidemarkQuery",
                "TidemarkEvents", "TidemarkViews",
                "TidemarkRules", "TidemarkLock",
                .product(name: "Crypto", package: "swift-crypto"),
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkObserving",
            dependencies: [
                "Tidemark", "TidemarkModel", "TidemarkLock",
                .product(name: "Logging", package: "swift-log", condition: observing),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: observing),
                .product(
                    name: "Tracing",
                    package: "swift-distributed-tracing",
                    condition: observing
                ),
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkReplay",
            dependencies: [
                "Tidemark", "TidemarkDatabase", "TidemarkEvents", "TidemarkModel", "TidemarkLog",
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkAdministration",
            dependencies: [
                "TidemarkReplay", "Tidemark", "TidemarkEvents", "TidemarkModel", "TidemarkLog",
                "TidemarkWire",
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkSync",
            dependencies: ["TidemarkModel"],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkWire",
            dependencies: ["TidemarkModel"],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkClient",
            dependencies: [
                "TidemarkWire", "TidemarkModel", "TidemarkLock",
                .product(name: "Crypto", package: "swift-crypto"),
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: client
                ),
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: client
                ),
                .product(name: "NIOCore", package: "swift-nio", condition: client),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: client),
                .product(name: "NIOPosix", package: "swift-nio", condition: client),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: client),
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkServer",
            dependencies: [
                "TidemarkWire", "TidemarkAdministration", "Tidemark", "TidemarkDatabase",
                "TidemarkModel", "TidemarkLock",
                .target(name: "CZlib", condition: server),
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: server
                ),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: server),
                .product(name: "Hummingbird", package: "hummingbird", condition: server),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: server),
                .product(name: "HummingbirdTLS", package: "hummingbird", condition: server),
                .product(name: "HummingbirdHTTP2", package: "hummingbird", condition: server),
                .product(name: "JWTKit", package: "jwt-kit", condition: server),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: server),
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: server
                ),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: server),
                .product(
                    name: "NIOCertificateReloading",
                    package: "swift-nio-extras",
                    condition: server
                ),
                .product(name: "NIOHTTP1", package: "swift-nio", condition: server),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: server),
                .product(
                    name: "NIOHTTPTypesHTTP1",
                    package: "swift-nio-extras",
                    condition: server
                ),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
                .product(
                    name: "ServiceLifecycle",
                    package: "swift-service-lifecycle",
                    condition: server
                ),
            ],
            swiftSettings: shipped
        ),
        .target(
            name: "TidemarkTesting",
            dependencies: ["TidemarkModel", "TidemarkLock"],
            swiftSettings: shipped
        ),
        .executableTarget(
            name: "TidemarkCommand",
            dependencies: [
                "Tidemark", "TidemarkReplay", "TidemarkAdministration", "TidemarkEvents",
                "TidemarkModel", "TidemarkLog", "TidemarkLock", "TidemarkServer", "TidemarkWire",
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: client
                ),
                .product(name: "NIOCore", package: "swift-nio", condition: client),
                .product(name: "NIOPosix", package: "swift-nio", condition: client),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: client),
                .product(name: "Configuration", package: "swift-configuration", condition: server),
                .product(name: "Subprocess", package: "swift-subprocess", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: shipped
        ),
        .executableTarget(
            name: "EmbeddingExample",
            dependencies: ["Tidemark"],
            path: "Docs/Examples/Embedding",
            swiftSettings: everywhere
        ),
        .executableTarget(
            name: "TaskListExample",
            dependencies: ["Tidemark", "TidemarkReplay"],
            path: "Docs/Examples/TaskList",
            swiftSettings: everywhere
        ),
        .executableTarget(
            name: "TwoDevicesExample",
            dependencies: ["Tidemark"],
            path: "Docs/Examples/TwoDevices",
            swiftSettings: everywhere
        ),
        .target(
            name: "TestSupport",
            path: "Tests/Support",
            swiftSettings: shipped
        ),
        .target(
            name: "ServiceConformance",
            dependencies: ["Tidemark", "TidemarkModel"],
            path: "Tests/ServiceConformance",
            swiftSettings: shipped
        ),
        .target(
            name: "SimulatedDisk",
            dependencies: ["TidemarkLog", "TidemarkLock", "TestSupport"],
            path: "Tests/SimulatedDisk",
            swiftSettings: shipped
        ),
        .target(
            name: "GeneratedQueries",
            dependencies: ["TidemarkModel", "TestSupport"],
            path: "Tests/GeneratedQueries",
            swiftSettings: shipped
        ),
        .testTarget(
            name: "TidemarkModelTests",
            dependencies: ["TidemarkModel", "GeneratedQueries", "TestSupport"],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkLogTests",
            dependencies: [
                "TidemarkLog", "TidemarkLock", "SimulatedDisk", "TestSupport", "CLZ4", "CXXHash",
            ],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkQueryTests",
            dependencies: [
                "TidemarkQuery", "TidemarkModel", "GeneratedQueries", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkEventsTests",
            dependencies: ["TidemarkEvents", "TidemarkLog", "TidemarkModel"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkViewsTests",
            dependencies: [
                "TidemarkViews", "TidemarkEvents", "TidemarkLog", "TestSupport",
            ],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkRulesTests",
            dependencies: ["TidemarkRules", "TidemarkEvents", "TidemarkLog", "TidemarkModel"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkDatabaseTests",
            dependencies: [
                "TidemarkDatabase", "Tidemark", "TidemarkReplay", "TidemarkModel",
                "TidemarkTesting", "TestSupport",
            ],
            swiftSettings: everywhere
        ),
        // Loops that catch errors, in the other language mode: the same file.
        .testTarget(
            name: "TidemarkDatabaseSwift5Tests",
            dependencies: ["TidemarkDatabase", "Tidemark", "TestSupport"],
            swiftSettings: sanitized + [.swiftLanguageMode(.v5)]
        ),
        .testTarget(
            name: "TidemarkWireTests",
            dependencies: [
                "TidemarkWire", "TidemarkDatabase", "Tidemark", "TidemarkModel", "TestSupport",
                "ServiceConformance",
            ],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkServerTests",
            dependencies: [
                "TidemarkServer", "TidemarkClient", "TidemarkAdministration", "TidemarkReplay",
                "TidemarkWire", "TidemarkDatabase", "Tidemark", "TidemarkModel", "TidemarkLock",
                "TestSupport", "ServiceConformance",
                .product(
                    name: "AsyncAlgorithms",
                    package: "swift-async-algorithms",
                    condition: server
                ),
                .product(name: "NIOCore", package: "swift-nio", condition: server),
                .product(name: "NIOEmbedded", package: "swift-nio", condition: server),
                .product(name: "NIOHTTPTypes", package: "swift-nio-extras", condition: server),
                .product(name: "HummingbirdCore", package: "hummingbird", condition: server),
                .product(name: "Crypto", package: "swift-crypto"),
                .product(name: "_CryptoExtras", package: "swift-crypto", condition: server),
                .product(name: "Logging", package: "swift-log", condition: server),
                .product(name: "Hummingbird", package: "hummingbird", condition: server),
                .product(name: "HummingbirdTesting", package: "hummingbird", condition: server),
                .product(name: "HummingbirdTLS", package: "hummingbird", condition: server),
                .product(name: "NIOSSL", package: "swift-nio-ssl", condition: server),
                .product(name: "HTTPTypes", package: "swift-http-types", condition: server),
                .product(
                    name: "AsyncHTTPClient",
                    package: "async-http-client",
                    condition: server
                ),
                .product(name: "NIOPosix", package: "swift-nio", condition: server),
                .product(name: "Tracing", package: "swift-distributed-tracing", condition: server),
            ],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkTests",
            dependencies: [
                "Tidemark", "TidemarkReplay", "TidemarkViews", "TidemarkEvents", "TidemarkLog",
                "TidemarkModel", "TidemarkLock", "TidemarkTesting",
                "GeneratedQueries", "SimulatedDisk", "TestSupport",
                .product(name: "GRDB", package: "GRDB.swift"),
            ],
            exclude: ["Fixtures"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkObservingTests",
            dependencies: [
                "TidemarkObserving", "Tidemark", "TidemarkModel", "TidemarkLock", "TestSupport",
                .product(name: "Logging", package: "swift-log", condition: observing),
                .product(name: "InMemoryLogging", package: "swift-log", condition: observing),
                .product(name: "CoreMetrics", package: "swift-metrics", condition: observing),
                .product(name: "MetricsTestKit", package: "swift-metrics", condition: observing),
                .product(
                    name: "InMemoryTracing",
                    package: "swift-distributed-tracing",
                    condition: observing
                ),
            ],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkReplayTests",
            dependencies: [
                "TidemarkReplay", "Tidemark", "TidemarkEvents", "TidemarkLog", "TidemarkModel",
                "TidemarkLock", "GeneratedQueries", "TestSupport",
            ],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "TidemarkSyncTests",
            dependencies: ["TidemarkSync", "TidemarkModel", "GeneratedQueries", "TestSupport"],
            swiftSettings: everywhere
        ),
        .testTarget(
            name: "CommandTests",
            dependencies: [
                "TidemarkCommand", "Tidemark", "TidemarkAdministration", "TidemarkViews",
                "TidemarkEvents", "TidemarkLog", "TidemarkModel", "TestSupport",
                "EmbeddingExample", "TwoDevicesExample", "TaskListExample",
                .product(name: "ArgumentParser", package: "swift-argument-parser"),
            ],
            swiftSettings: everywhere
        ),
    ]
)

// Apple's names on systems that do not have the real framework.
#if !canImport(Darwin)
package.products += [
    .library(name: "CloudKit", targets: ["CloudKit"]),
    .library(name: "TidemarkCloudKit", targets: ["TidemarkCloudKit"]),
    .library(name: "CloudKitShims", targets: ["CloudKitShims"]),
]
package.dependencies.append(
    .package(url: "https://github.com/OpenCombine/OpenCombine", from: "0.14.0")
)
package.targets += [
    .target(name: "CDefaultCloud"),
    // What programs implement. It states no isolation, so the feature that adds one is off.
    .target(
        name: "TidemarkDelegate",
        swiftSettings: sanitized + [.swiftLanguageMode(.v6), .treatAllWarnings(as: .error)]
    ),
    // Apple's names over any service.
    .target(
        name: "TidemarkCloudKit",
        dependencies: [
            "TidemarkSync", "TidemarkWire", "TidemarkTesting", "TidemarkModel", "TidemarkLock",
            "TidemarkDelegate", "CDefaultCloud",
            .target(name: "TidemarkClient", condition: client),
        ],
        swiftSettings: shipped
    ),
    // The same names where a program imports CloudKit, with a store in its own process.
    .target(
        name: "CloudKit",
        dependencies: ["TidemarkCloudKit", "Tidemark"],
        swiftSettings: shipped
    ),
    // Without the trait nothing uses OpenCombine, and SwiftPM does not resolve it.
    .target(
        name: "CloudKitShims",
        dependencies: ["OpenCombine", "OpenCombineDispatch", "OpenCombineFoundation"].map {
            .product(name: $0, package: "OpenCombine", condition: .when(traits: ["Shims"]))
        },
        swiftSettings: shipped
    ),
    .testTarget(
        name: "CloudKitShimsTests",
        dependencies: ["CloudKitShims"],
        swiftSettings: everywhere
    ),
    .executableTarget(
        name: "CloudKitNotesExample",
        dependencies: ["CloudKit"],
        path: "Docs/Examples/CloudKitNotes",
        swiftSettings: everywhere
    ),
    .testTarget(
        name: "CloudKitTests",
        dependencies: [
            "CloudKit", "TidemarkCloudKit", "CloudKitNotesExample", "Tidemark", "TidemarkTesting",
            "TidemarkLog", "TidemarkWire",
            "TidemarkModel", "TestSupport",
            .target(name: "TidemarkClient", condition: client),
        ],
        swiftSettings: everywhere
    ),
    // Scenarios of CloudKitTests under the other module name, without the engine: the same files.
    .testTarget(
        name: "TidemarkCloudKitTests",
        dependencies: ["TidemarkCloudKit"],
        swiftSettings: everywhere + [.define("TidemarkName")]
    ),
    // Code as it is written for Apple's systems, in both language modes: the same files.
    .testTarget(
        name: "CloudKitSwift5Tests",
        dependencies: ["CloudKit", "CloudKitShims"],
        swiftSettings: sanitized + [.swiftLanguageMode(.v5)]
    ),
    .testTarget(
        name: "CloudKitSwift6Tests",
        dependencies: ["CloudKit", "CloudKitShims"],
        swiftSettings: sanitized + [.swiftLanguageMode(.v6)]
    ),
]
#endif

// `tools/test --target NAME` leaves out of the package whatever that target and its tests do not need,
// because SwiftPM builds every test target of a package.
if let target = Context.environment["TIDEMARK_TARGET"] {
    func names(_ dependencies: [Target.Dependency]) -> [String] {
        dependencies.compactMap { dependency in
            switch dependency {
            case .byNameItem(let name, _), .targetItem(let name, _): name
            default: nil
            }
        }
    }
    let dependencies = package.targets.map { ($0.name, names($0.dependencies)) }
    let below = Dictionary(uniqueKeysWithValues: dependencies)
    // The target that a test target names first is the one that it tests.
    let tests = package.targets.filter { $0.isTest && names($0.dependencies).first == target }
    var kept: Set<String> = []
    var waiting = [target] + tests.map(\.name)
    while let name = waiting.popLast() {
        if kept.insert(name).inserted { waiting += below[name] ?? [] }
    }
    package.targets.removeAll { !kept.contains($0.name) }
    package.products.removeAll { product in
        let targets =
            (product as? Product.Library)?.targets ?? (product as? Product.Executable)?.targets
        return !(targets ?? []).allSatisfy(kept.contains)
    }
}
