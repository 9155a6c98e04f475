// Tidemark
// SPDX-License-Identifier: Apache-2.0

import TidemarkModel

extension RecordBody {
    /// The first version of a record, saved by nobody at time zero.
    init(named name: String, ofType type: Name = "Note", _ fields: Fields) {
        let moment = Authorship(time: 0, user: nil)
        let header = RecordHeader(
            recordName: Name(name),
            recordType: type,
            created: moment,
            modified: moment
        )
        self.init(header, fields: fields)
    }
}
