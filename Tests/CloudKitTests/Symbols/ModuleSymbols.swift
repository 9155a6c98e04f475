// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The public declarations of the module that was built, from its symbol graph.
struct ModuleSymbols {
    private struct Graph: Decodable {
        struct Symbol: Decodable {
            struct Identifier: Decodable { var precise: String }
            struct Kind: Decodable { var identifier: String }
            struct Fragment: Decodable {
                var kind: String
                var preciseIdentifier: String?
            }

            var identifier: Identifier
            var kind: Kind
            var pathComponents: [String]
            var declarationFragments: [Fragment]?
        }

        struct Relationship: Decodable {
            var kind: String
            var source: String
            var target: String
            /// The target's module and name, if it is in another module.
            var targetFallback: String?
        }

        var symbols: [Symbol]
        var relationships: [Relationship]
    }

    /// Every declaration, those of other modules' types that this one extends among them.
    private(set) var names: Set<SymbolName> = []
    /// What a name stands for.
    private var aliases: [String: String] = [:]
    private var superclasses: [String: String] = [:]

    init() throws {
        let folder = try ScratchFolder()
        // The module exports what TidemarkCloudKit declares.
        for module in ["CloudKit", "TidemarkCloudKit", "TidemarkDelegate"] {
            try Self.extract(module, to: folder.url)
        }
        for file in try FileManager.default.contentsOfDirectory(
            at: folder.url,
            includingPropertiesForKeys: nil
        ) {
            let graph = try JSONDecoder().decode(Graph.self, from: Data(contentsOf: file))
            add(graph)
        }
    }

    /// The tool that extracts symbols did not do it; what it says is in the test's output.
    private struct Failure: Error {
        var arguments: [String]
    }

    private static func extract(_ module: String, to folder: URL) throws {
        let built = URL(filePath: CommandLine.arguments[0]).resolvingSymlinksInPath()
            .deletingLastPathComponent()
        let root = URL(filePath: #filePath).appending(path: "../../../..").standardized
        let systemModules = [
            root.appending(path: "Sources/CLZ4"), root.appending(path: "Sources/CXXHash"),
            root.appending(path: "Sources/CPlatform"),
            root.appending(path: "Sources/CLMDB"),
            built.appending(path: "../../checkouts/GRDB.swift/Sources/GRDBSQLite").standardized,
        ]
        // What the module's own dependencies are written in C with, for whoever imports it.
        let checkouts = built.appending(path: "../../checkouts").standardized
        let maps = FileManager.default.enumerator(at: checkouts, includingPropertiesForKeys: nil)?
            .compactMap { $0 as? URL }
            .filter { $0.lastPathComponent == "module.modulemap" && $0.path.contains("/Sources/") }
        let made = try FileManager.default.contentsOfDirectory(
            at: built,
            includingPropertiesForKeys: nil
        ).map { $0.appending(path: "module.modulemap") }
            .filter { FileManager.default.fileExists(atPath: $0.path) }
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments =
            [
                "swift", "symbolgraph-extract", "-module-name", module, "-target", target,
                "-minimum-access-level", "public", "-output-dir", folder.path,
                "-I", built.appending(path: "Modules").path,
            ]
            + (systemModules.map { $0.appending(path: "module.modulemap") } + (maps ?? []) + made)
            .flatMap { ["-Xcc", "-fmodule-map-file=\($0.path)"] }
        try process.run()
        process.waitUntilExit()
        guard process.terminationStatus == 0 else {
            throw Failure(arguments: process.arguments ?? [])
        }
    }

    private static var target: String {
        #if arch(arm64)
        "aarch64-unknown-linux-gnu"
        #else
        "x86_64-unknown-linux-gnu"
        #endif
    }

    private mutating func add(_ graph: Graph) {
        var paths: [String: String] = [:]
        for symbol in graph.symbols {
            paths[symbol.identifier.precise] = symbol.pathComponents.joined(separator: ".")
            guard let name = symbol.pathComponents.last else { continue }
            let type = symbol.pathComponents.dropLast().joined(separator: ".")
            names.insert(SymbolName(type: type, name: name))
        }
        for symbol in graph.symbols where symbol.kind.identifier == "swift.typealias" {
            let target = symbol.declarationFragments?.compactMap(\.preciseIdentifier).last
            if let target, let path = paths[target] {
                aliases[symbol.pathComponents.joined(separator: ".")] = path
            }
        }
        // A protocol that refines one of a module below has its requirements.
        for relationship in graph.relationships where relationship.kind == "conformsTo" {
            guard let fallback = relationship.targetFallback,
                fallback.hasPrefix("TidemarkDelegate."), let child = paths[relationship.source]
            else { continue }
            superclasses[child] = String(fallback.dropFirst("TidemarkDelegate.".count))
        }
        for relationship in graph.relationships where relationship.kind == "inheritsFrom" {
            if let child = paths[relationship.source], let parent = paths[relationship.target] {
                superclasses[child] = parent
            }
        }
    }

    /// Whether there is a declaration of this name, by itself, by another name of its type, or in a class
    /// above.
    func contains(_ symbol: SymbolName) -> Bool {
        var type: String? = resolved(symbol.type)
        while let place = type {
            if names.contains(SymbolName(type: place, name: symbol.name)) { return true }
            type = superclasses[place]
        }
        return false
    }

    /// The type that a name stands for.
    func resolved(_ type: String) -> String {
        var path = ""
        for part in type.split(separator: ".") {
            path = path.isEmpty ? String(part) : "\(path).\(part)"
            while let target = aliases[path] { path = target }
        }
        return path
    }
}
