// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// A record, by its name and the index of its zone among the zones of a request.
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
