// Tidemark
// SPDX-License-Identifier: Apache-2.0

// The parts of a service's requests and answers whose coded form is not the one that the compiler
// makes of their properties. A client and a server may be of different versions: names are
// permanent, and a new member is optional.

extension RecordChanges: Codable {
    /// Reads the lines.
    public init(from decoder: any Decoder) throws {
        self.init(try [RecordChange](from: decoder))
    }

    /// Writes the lines.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.unkeyedContainer()
        for change in self { try container.encode(change) }
    }
}

extension RecordSave.BoxedShare: Codable {
    package init(from decoder: any Decoder) throws {
        let content = try decoder.singleValueContainer().decode(ShareContent?.self)
        self = content.map { .content($0) } ?? .none
    }

    package func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        if case .content(let content) = self {
            try container.encode(content)
        } else {
            try container.encodeNil()
        }
    }
}

// MARK: - Outcomes

/// The outcome of one item: its value under `success`, or its error under `failure`.
package struct CodedOutcome<Success: Codable & Sendable>: Codable, Sendable {
    private var success: Success?
    private var failure: SyncError?

    package init(_ result: Result<Success, SyncError>) {
        switch result {
        case .success(let value): success = value
        case .failure(let error): failure = error
        }
    }

    package var result: Result<Success, SyncError> {
        // An outcome with both is never written.
        if let success { return .success(success) }
        return .failure(
            failure ?? SyncError(.internalError, "An outcome has neither a value nor an error.")
        )
    }
}

/// The outcomes of a request's saves and deletions.
private struct CodedOutcomes<Save: Codable & Sendable, Deletion: Codable & Sendable>: Codable {
    let saves: [CodedOutcome<Save>]
    let deletions: [CodedOutcome<Deletion>]

    init(_ saves: [Result<Save, SyncError>], _ deletions: [Result<Deletion, SyncError>]) {
        self.saves = saves.map { CodedOutcome($0) }
        self.deletions = deletions.map { CodedOutcome($0) }
    }
}

extension ModifyRecordsResult: Codable {
    /// Reads `saves` and `deletions`.
    public init(from decoder: any Decoder) throws {
        let coded = try CodedOutcomes<Record, RecordID>(from: decoder)
        self.init(saves: coded.saves.map(\.result), deletions: coded.deletions.map(\.result))
    }

    /// Writes `saves` and `deletions`, each outcome under `success` or `failure`.
    public func encode(to encoder: any Encoder) throws {
        try CodedOutcomes(saves, deletions).encode(to: encoder)
    }
}

extension ModifyZonesResult: Codable {
    /// Reads `saves` and `deletions`.
    public init(from decoder: any Decoder) throws {
        let coded = try CodedOutcomes<Zone, ZoneID>(from: decoder)
        self.init(saves: coded.saves.map(\.result), deletions: coded.deletions.map(\.result))
    }

    /// Writes `saves` and `deletions`, each outcome under `success` or `failure`.
    public func encode(to encoder: any Encoder) throws {
        try CodedOutcomes(saves, deletions).encode(to: encoder)
    }
}

extension ModifySubscriptionsResult: Codable {
    /// Reads `saves` and `deletions`.
    public init(from decoder: any Decoder) throws {
        let coded = try CodedOutcomes<Subscription, String>(from: decoder)
        self.init(saves: coded.saves.map(\.result), deletions: coded.deletions.map(\.result))
    }

    /// Writes `saves` and `deletions`, each outcome under `success` or `failure`.
    public func encode(to encoder: any Encoder) throws {
        try CodedOutcomes(saves, deletions).encode(to: encoder)
    }
}
