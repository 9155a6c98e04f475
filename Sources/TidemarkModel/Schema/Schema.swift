// Tidemark
// SPDX-License-Identifier: Apache-2.0

/// The record types of a container, and the permissions on them in the public database.
///
/// Record types and roles are in the order of their names' bytes and no name occurs twice, so equal
/// schemas are equal values. The type `Users` always exists. To check names, indexes and limits,
/// use ``problems(limits:)``.
public struct Schema: Hashable, Sendable {
    /// The custom roles.
    public private(set) var roles: [Role]
    /// The record types, `Users` among them.
    public private(set) var recordTypes: [RecordType]

    /// Creates a schema with only the record type `Users`, as in a new container.
    public init() {
        roles = []
        recordTypes = [.users]
    }

    /// Creates a schema from roles and record types in any order; of two with one name the later
    /// counts.
    ///
    /// O(n log n).
    public init(roles: [Role] = [], recordTypes: [RecordType]) {
        self.roles = roles.sortedByName()
        // A given `Users` replaces the default one, because the later of two counts.
        self.recordTypes = ([.users] + recordTypes).sortedByName()
    }

    /// The record type of a name.
    ///
    /// O(log record types).
    public subscript(name: Name) -> RecordType? {
        recordTypes.place(of: name).found.map { recordTypes[$0] }
    }

    /// Returns true if a role is built in, or one of this schema's own.
    public func knows(_ role: Role) -> Bool {
        role.isBuiltIn || roles.place(of: role.name).found != nil
    }

    /// Adds a record type, or replaces the one of that name.
    public mutating func set(_ recordType: RecordType) {
        recordTypes.set(recordType)
    }

    /// Adds a custom role unless there is one of that name.
    public mutating func set(_ role: Role) {
        roles.set(role)
    }

    /// Removes a record type if it exists; `Users` is reset to its initial state.
    public mutating func remove(recordType name: Name) {
        if name == RecordType.usersName {
            recordTypes.set(.users)
        } else if let index = recordTypes.place(of: name).found {
            recordTypes.remove(at: index)
        }
    }

    /// Removes a custom role if it exists; grants to it stay.
    public mutating func remove(_ role: Role) {
        if let index = roles.place(of: role.name).found { roles.remove(at: index) }
    }
}

/// An element that is found by its name in a sorted array.
protocol NamedItem {
    /// The name.
    var name: Name { get }
}

extension Array where Element: NamedItem {
    /// Returns the elements by their names' bytes; of two with one name, the later in this array.
    func sortedByName() -> Self {
        var last: [Name: Int] = [:]
        for (index, element) in enumerated() { last[element.name] = index }
        return last.sorted { $0.key < $1.key }.map { self[$0.value] }
    }

    /// Returns the index of the element with a name, and the index at which to insert it.
    func place(of name: Name) -> (found: Int?, insertion: Int) {
        var low = 0
        var high = count
        while low < high {
            let middle = (low + high) / 2
            if self[middle].name < name { low = middle + 1 } else { high = middle }
        }
        return (low < count && self[low].name == name ? low : nil, low)
    }

    /// Inserts an element at the place of its name.
    mutating func set(_ element: Element) {
        let place = place(of: element.name)
        if let index = place.found {
            self[index] = element
        } else {
            insert(element, at: place.insertion)
        }
    }
}
