// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Testing
import TidemarkModel

@testable import TidemarkCommand

@Suite struct DatabaseOptionsTests {
    @Test func `Without options, the standard database is used`() throws {
        #expect(try DatabaseOptions.parse([]).id == .standard)
    }

    @Test func `Each part of the database has an option`() throws {
        let options = try DatabaseOptions.parse([
            "--container", "iCloud.notes", "--environment", "production", "--owner", "_abc",
        ])
        #expect(
            options.id
                == DatabaseID(
                    container: ContainerID("iCloud.notes"),
                    environment: .production,
                    scope: .private,
                    owner: UserID("_abc")
                )
        )
        #expect(try DatabaseOptions.parse(["--database", "public"]).id.scope == .public)
        let shared = try DatabaseOptions.parse(["--database", "shared", "--owner", "_bob"])
        #expect(shared.id == DatabaseID(scope: .shared, owner: UserID("_bob")))
        #expect(shared.zone("_anna/a/b") == ZoneID(zoneName: "a/b", ownerName: "_anna"))
        #expect(try DatabaseOptions.parse([]).zone("a/b") == ZoneID(zoneName: "a/b"))
        #expect(shared.zone(nil) == .default)
    }

    @Test func `An account is resolved in the container given by the options`() throws {
        let options = try DatabaseOptions.parse([
            "--container", "iCloud.notes", "--owner", "account:anna",
        ])
        // printf 'iCloud.notes\\0anna' | sha256sum
        let anna = UserID("_e5d2a9e86d3628dc10cd31fbfd88fda6")
        #expect(options.id.owner == anna)
        let caller = try CallerOptions.parse(["--as", "account:anna"]).caller(of: options.id)
        #expect(caller.user == anna)
    }

    @Test(arguments: [["--database", "other"], ["--environment", "staging"], ["--container"]])
    func `Other arguments are a usage error`(arguments: [String]) {
        #expect {
            try DatabaseOptions.parse(arguments)
        } throws: { error in
            DatabaseOptions.exitCode(for: error).rawValue == 64
        }
    }
}
