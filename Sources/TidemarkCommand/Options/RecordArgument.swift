// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TidemarkModel

/// The record that a command is about.
struct RecordArgument: ParsableArguments {
    @Argument(help: "The record's name.")
    var name: String

    @Option(help: ArgumentHelp("The record's zone.", valueName: "name"))
    var zone = ZoneID.defaultZoneName

    /// The record's names.
    var id: RecordID { RecordID(recordName: name, zone: ZoneID(zoneName: zone)) }
}
