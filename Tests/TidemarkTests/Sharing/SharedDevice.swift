// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkModel

/// What the device of a user holds of one zone, kept up to date by tokens alone.
struct SharedDevice {
    var client: Client
    var databaseToken: ChangeToken?
    var zoneToken: ChangeToken?
    var records: [String: RecordChangeTag] = [:]
    /// How often it had to begin anew, because its token expired.
    private(set) var expiredCount = 0

    init(_ client: Client) {
        self.client = client
    }

    /// Fetches as a client does, at most some pages; says whether it has come to the end.
    mutating func sync(limit: Int, pageCount: Int = .max) async throws -> Bool {
        var moreComing = true
        while moreComing {
            let page: DatabaseChanges
            do throws(SyncError) {
                page = try await client.databaseChanges(since: databaseToken, limit: limit)
            } catch {
                guard error.code == .changeTokenExpired, databaseToken != nil else { throw error }
                // Whoever begins anew knows of no zones.
                expiredCount += 1
                databaseToken = nil
                zoneToken = nil
                records = [:]
                continue
            }
            for case .deleted(let zone, _) in page.changes where zone == client.zone {
                records = [:]
                zoneToken = nil
            }
            databaseToken = page.token
            moreComing = page.moreComing
        }
        var pagesLeft = pageCount
        moreComing = true
        while moreComing {
            if pagesLeft == 0 { return false }
            pagesLeft -= 1
            do throws(SyncError) {
                let page = try await client.page(since: zoneToken, limit: limit)
                for change in page.changes {
                    switch change {
                    case .changed(let record):
                        records[record.recordID.recordName] = record.changeTag
                    case .deleted(let record):
                        records[record.recordID.recordName] = nil
                    }
                }
                zoneToken = page.token
                moreComing = page.moreComing
            } catch {
                if error.code == .changeTokenExpired, zoneToken != nil {
                    expiredCount += 1
                    zoneToken = nil
                    records = [:]
                    continue
                }
                guard error.code == .zoneNotFound else { throw error }
                return true
            }
        }
        return true
    }
}
