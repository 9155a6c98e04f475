// Tidemark
// SPDX-License-Identifier: Apache-2.0

import ArgumentParser

/// The store that a command is about.
struct StoreArgument: ParsableArguments {
    @Argument(help: "The store's folder, such as notes.tide.", completion: .directory)
    var store: String
}
