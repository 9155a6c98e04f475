// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A record by its zone, as an index among the zones of a request, and its name.
package struct RecordPlace: Hashable, Sendable {
    package var zone: Int
    package var name: Name

    package init(zone: Int, name: Name) {
        self.zone = zone
        self.name = name
    }

    package init(_ item: ConsultedItem) {
        self.init(zone: item.zone, name: item.name)
    }
}
