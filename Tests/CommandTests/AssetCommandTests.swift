// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@Suite struct AssetCommandTests {
    let folder: ScratchFolder

    init() throws {
        folder = try ScratchFolder()
    }

    /// The SHA-256 of "one\n" and "two\n", as `sha256sum` prints them.
    private static let one = "2c8b08da5ce60398e1f19af0e5dccc744df274b826abe585eaba68c525434806"
    private static let two = "27dd8ed44a83ff94d557f9fd0412ed5a8cbca69ea04922d88c01184a07300a5a"

    /// A store with a record whose asset changed once.
    private func makeStore() async throws -> String {
        let outcome = try await Command.script(
            """
            printf 'one\\n' >one; printf 'two\\n' >two
            $tidemark zones create a.tide lists &&
            $tidemark save a.tide trip --type Trip --zone lists photo:ASSET=@one &&
            $tidemark save a.tide trip --type Trip --zone lists --policy changed-keys \\
                photo:assetid=@two
            """,
            in: folder
        )
        try #require(outcome.status == 0, "\(outcome.errors)")
        return folder.path("a.tide")
    }

    @Test func `A file is saved as a field and read back, now and in the past`() async throws {
        let store = try await makeStore()
        let now = try await Command.run("asset", "get", store, "trip", "photo", "--zone", "lists")
        #expect(now.output == "two\n")
        let then = try await Command.script(
            """
            $tidemark asset get a.tide trip photo --zone lists --at 4 --output then && cat then
            $tidemark asset get a.tide trip photo --zone lists --output then
            """,
            in: folder
        )
        #expect(then.output == "one\n")
        #expect(then.status == 1)
        #expect(then.errors.contains("then cannot be created: File exists"))
        let none = try await Command.run("asset", "get", store, "trip", "title", "--zone", "lists")
        #expect(none.status == 1)
        #expect(none.errors.contains("The field \"title\" of trip in zone lists has no asset."))
        let listed = try await Command.run("asset", "ls", store).objects()
        #expect(listed.compactMap { ($0["asset"] as? [String: Any])?["size"] as? Int } == [4, 4])
        let files = listed.compactMap { $0["file"] as? String }
        #expect(files.map { $0.suffix(64) } == [Self.two[...], Self.one[...]])
    }

    @Test func `verify names the file and record of missing or damaged assets`() async throws {
        let store = try await makeStore()
        let sound = try await Command.run("log", "verify", store, "--text")
        #expect(sound.status == 0)
        #expect(sound.output.contains(", assets: 2."))
        let files = try await Command.run("asset", "ls", store).objects()
            .compactMap { $0["file"] as? String }
        try overwrite(files[0], at: 1, with: Array("o".utf8))
        try FileManager.default.removeItem(atPath: files[1])
        let outcome = try await Command.run("log", "verify", store)
        #expect(outcome.status == 1)
        let findings = try outcome.objects()
        #expect(findings.map { $0["file"] as? String } == [files[0], files[1], nil])
        let remedy =
            " Send the asset again (`tidemark asset put`), or put the file back from a backup."
        #expect(
            findings[0]["message"] as? String
                == "The bytes of this asset are not those that were sent. It is named by the record "
                + "trip (event 5).\(remedy)"
        )
        #expect(
            findings[1]["message"] as? String
                == "The bytes of this asset are missing. It is named by the record trip (event 4)."
                + remedy
        )
        #expect(findings[2]["assets"] as? Int == 2)
        let get = try await Command.run("asset", "get", store, "trip", "photo", "--zone", "lists")
        #expect(get.status == 1)
        #expect(get.output == "")
        #expect(get.errors.contains("assetNotAvailable"))
        let salvage = try await Command.run("log", "salvage", store, folder.path("b.tide"))
        #expect(salvage.status == 1)
        #expect(try salvage.objects()[0]["assets"] as? Int == 0)
        for name in ["one", "two"] {
            let put = try await Command.run("asset", "put", store, folder.path(name))
            #expect(put.status == 0)
        }
        #expect(try await Command.run("log", "verify", store).status == 0)
        let copy = try await Command.run("log", "salvage", store, folder.path("c.tide"))
        #expect(copy.status == 0)
        #expect(try copy.objects()[0]["assets"] as? Int == 2)
        #expect(try await Command.run("log", "verify", folder.path("c.tide")).status == 0)
    }

    @Test func `An export includes the assets, and an import restores them`() async throws {
        _ = try await makeStore()
        let outcome = try await Command.script(
            """
            $tidemark export a.tide --changes --assets files >a.jsonl &&
            $tidemark import b.tide a.jsonl --assets files &&
            $tidemark asset get b.tide trip photo --zone lists --at 4 &&
            $tidemark export a.tide --assets now >/dev/null && (cd now; echo *)
            """,
            in: folder
        )
        #expect(outcome.status == 0, "\(outcome.errors)")
        #expect(outcome.lines.suffix(2) == ["one", Self.two[...]])
        let without = try await Command.script(
            """
            $tidemark import c.tide a.jsonl; $tidemark asset get c.tide trip photo --zone lists
            $tidemark export c.tide --assets lost
            """,
            in: folder
        )
        #expect(without.status == 1)
        #expect(without.errors.contains("The bytes of the asset \(Self.two) are missing."))
        let taken = try await Command.script("$tidemark export a.tide --assets a.jsonl", in: folder)
        #expect(taken.status == 1)
        #expect(taken.errors.hasPrefix("Error: The folder a.jsonl cannot be created: "))
        #expect(!taken.errors.contains("Domain"), "\(taken.errors)")
        let later = try await Command.script(
            "$tidemark import c.tide a.jsonl --assets files && $tidemark log verify c.tide",
            in: folder
        )
        #expect(later.status == 0)
    }

    @Test func `Unreferenced assets can be collected after a day`() async throws {
        let store = try await makeStore()
        let put = try await Command.run(["asset", "put", store, "-"], input: Array("three".utf8))
        #expect(try put.objects()[0]["size"] as? Int == 5)
        #expect(try await Command.run("asset", "collect", store).output == "")
        for file in try await Command.run("asset", "ls", store).objects() {
            let path = try #require(file["file"] as? String)
            let time = Date.now.addingTimeInterval(-90_000)
            try FileManager.default.setAttributes([.modificationDate: time], ofItemAtPath: path)
        }
        for arguments in [["--dry-run"], []] {
            let outcome = try await Command.run(["asset", "collect", store] + arguments)
            let sizes = try outcome.objects()
                .compactMap { ($0["asset"] as? [String: Any])?["size"] as? Int }
            #expect(sizes == [5])
        }
        #expect(try await Command.run("asset", "ls", store).lines.count == 2)
        #expect(try await Command.run("log", "verify", store).status == 0)
    }
}
