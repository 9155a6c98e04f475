// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// `tidemark compact`, as a user runs it.
@Suite struct CompactCommandTests {
    private func makeStore(in folder: ScratchFolder) async throws -> String {
        let saves = (1...40).map { number in
            "{\"time\":\(number)000,\"user\":\"anna\",\"changes\":[{\"op\":\"save\",\"zone\":\"a\","
                + "\"recordName\":\"r\(number % 4)\",\"recordType\":\"Note\","
                + "\"fields\":{\"n\":\(number)}}]}"
        }
        let deletion =
            "{\"time\":50000,\"user\":\"anna\",\"changes\":[{\"op\":\"delete\",\"zone\":\"a\","
            + "\"recordName\":\"r1\"}]}"
        return try await folder.store(saves + [deletion], name: "notes.tide")
    }

    @Test func `compact keeps current records, drops history, and logs it`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let before = try await Command.run("export", store).output
        let dry = try await Command.run([
            "compact", store, "--keep-history", "none", "--tombstones", "none", "--dry-run",
        ])
        #expect(dry.status == 0)
        #expect(dry.output.contains("\"dryRun\":true"))
        #expect(
            dry.output.contains(
                #""expired":[{"zone":"a","owner":"__defaultOwner__","#
                    + #""database":"iCloud.tidemark/development/private","before":"#
            )
        )
        #expect(try await Command.run("export", store, "--at", "20").status == 0)
        let done = try await Command.run([
            "compact", store, "--keep-history", "none", "--tombstones", "none", "--text",
        ])
        #expect(done.status == 0)
        #expect(
            done.output.contains(
                "Zone a of iCloud.tidemark/development/private: change tokens from before event"
            )
        )
        let now = try await Command.run("export", store).output
        #expect(now == before)
        let past = try await Command.run("export", store, "--at", "20")
        #expect(past.status == 1)
        #expect(past.errors.contains("History pruned"))
        // What the log has left up to there is not what there was.
        for command in [["export", "--changes", "--at"], ["replay", "--to"]] {
            let rest = try await Command.run([command[0], store] + command[1...] + ["20"])
            #expect(rest.status == 1)
            #expect(rest.output.isEmpty)
            #expect(rest.errors.contains("History pruned"))
        }
        #expect(try await Command.run("export", store, "--changes").status == 0)
        let verified = try await Command.run("log", "verify", store)
        #expect(verified.status == 0)
        #expect(verified.output.contains("\"findings\":0"))
        #expect(try await Command.run("log", "dump", store).output.contains("compactionBegun"))
    }

    @Test(arguments: ["30", "d", "-3d", "3x", "1.5h", ""])
    func `An invalid duration is rejected`(argument: String) async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let result = try await Command.run("compact", store, "--keep-history=\(argument)")
        #expect(result.status == 64)
        #expect(result.errors.contains("--keep-history"))
        #expect(argument.isEmpty || result.errors.contains("such as 12h or 30d"))
    }

    @Test func `Without options, compact drops nothing`() async throws {
        let folder = try ScratchFolder()
        let store = try await makeStore(in: folder)
        let changes = try await Command.run("log", "dump", store).output
        #expect(try await Command.run("compact", store).output.contains("\"dropped\":0"))
        let after = try await Command.run("log", "dump", store).output
        #expect(after.hasPrefix(changes))
        #expect(try await Command.run("export", store, "--at", "20").status == 0)
    }
}
