// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkLog
package import TidemarkModel

/// The records that get a new tag from a request that does not name them, as in CloudKit.
///
/// These are the targets of new references of a save, with any action, and the parent of each saved
/// record.
struct TouchedRecords {
    /// The records by zone and name, each once.
    private(set) var items: [ConsultedItem] = []
    /// The records that were read, including missing ones; the plan depends on them.
    private(set) var consulted: Neighbours

    /// Finds the existing records that the commit does not change otherwise.
    ///
    /// One lookup and one read for each.
    init(
        by request: ModifyRecordsRequest,
        _ verdicts: [Verdict],
        _ named: [ConsultedItem],
        beside cascades: [Int: [ConsultedItem]],
        _ neighbours: Neighbours
    ) throws(SyncError) {
        consulted = neighbours
        var seen: Set<RecordPlace> = []
        // Records that the commit changes anyway get their new tag by that.
        for (item, verdict) in zip(named, verdicts) where verdict.isChange {
            seen.insert(RecordPlace(item))
        }
        for item in cascades.values.joined() { seen.insert(RecordPlace(item)) }
        for index in request.saves.indices {
            guard case .save = verdicts[index] else { continue }
            let old = named[index].liveBody
            for name in request.saves[index].touchedNames(over: old) {
                let place = RecordPlace(zone: named[index].zone, name: name)
                // A missing target is looked up too. The plan then conflicts with a commit that
                // creates it first.
                guard seen.insert(place).inserted, let item = try consulted.item(place),
                    item.isLive
                else { continue }
                items.append(item)
            }
        }
        items.sort { ($0.zone, $0.name) < ($1.zone, $1.name) }
    }
}

extension Verdict {
    /// True if the record is saved or deleted.
    fileprivate var isChange: Bool {
        switch self {
        case .save, .delete: true
        case .nothingToDo, .refused, .conflict: false
        }
    }
}

extension RecordSave {
    /// Returns the names of the existing records of the same zone that a save touches when it
    /// replaces a version.
    fileprivate func touchedNames(over old: RecordBody?) -> [Name] {
        let before = Set(old?.fields.targetNames ?? [])
        let parent = parentName(over: old).map { [$0] } ?? []
        return fields.targetNames.filter { !before.contains($0) } + parent
    }
}

extension Fields {
    /// The names of the records in the same zone that the fields refer to.
    fileprivate var targetNames: [Name] {
        var names: [Name] = []
        for field in self where field.type == .reference || field.type == .referenceList {
            let links: [Reference] =
                switch field.value {
                case .reference(let link): [link]
                case .referenceList(let links): links
                default: []
                }
            names += links.filter { $0.zone == nil }.map { Name($0.recordName) }
        }
        return names
    }
}

extension RecordBody {
    /// Returns the body for an event that sets nothing: fields that the event at `sequence` set are
    /// stamped with that position.
    package func unchanged(of sequence: SequenceNumber) -> RecordBody {
        RecordBody(
            RecordHeader(
                recordName: Name(recordName),
                recordType: Name(recordType),
                created: created,
                modified: modified,
                parentName: parentName.map { Name($0) },
                shareName: shareName.map { Name($0) }
            ),
            setting: Fields(),
            extent: .changedFields,
            over: self,
            of: sequence.rawValue
        )
    }
}
