// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// Operations that belong together and are configured together.
///
/// Unchecked: set before its operations are added to a queue, and not afterwards.
open class CKOperationGroup: NSObject, NSSecureCoding, @unchecked Sendable {
    /// The expected size of a transfer.
    public enum TransferSize: Int, Sendable {
        /// The size is unknown.
        case unknown = 0
        /// Less than a megabyte.
        case kilobytes = 1
        /// Less than ten megabytes.
        case megabytes = 2
        /// Less than a hundred megabytes.
        case tensOfMegabytes = 3
        /// Less than a gigabyte.
        case hundredsOfMegabytes = 4
        /// Less than ten gigabytes.
        case gigabytes = 5
        /// Less than a hundred gigabytes.
        case tensOfGigabytes = 6
        /// More than that.
        case hundredsOfGigabytes = 7
    }

    /// The identity of the group.
    public let operationGroupID: String

    private var ownConfiguration = CKOperation.Configuration()

    // Apple's declaration: setting `nil` goes back to the defaults.
    // swift-format-ignore: NeverUseImplicitlyUnwrappedOptionals
    /// The configuration of the group's operations, for settings that they do not set.
    ///
    /// Setting it stores a copy.
    open var defaultConfiguration: CKOperation.Configuration! {
        get { ownConfiguration }
        set { ownConfiguration = CKOperation.Configuration(copying: newValue) }
    }

    /// The purpose of the group.
    open var name: String?

    /// The number of items that the group is for; its meaning is up to the program.
    open var quantity = 0

    /// The expected size of the data to send.
    open var expectedSendSize = TransferSize.unknown

    /// The expected size of the data to receive.
    open var expectedReceiveSize = TransferSize.unknown

    var settings: CKOperation.Configuration.Settings { ownConfiguration.settings }

    /// Creates a new group.
    public override init() {
        operationGroupID = UUID().uuidString
    }

    // MARK: Coding

    /// True.
    public static var supportsSecureCoding: Bool { true }

    private struct Archive: Codable {
        var id: String
        var name: String?
        var quantity: Int
        var sendSize: Int
        var receiveSize: Int
    }

    /// Writes the identity of the group without its configuration.
    open func encode(with coder: NSCoder) {
        coder.encode(
            archive: Archive(
                id: operationGroupID,
                name: name,
                quantity: quantity,
                sendSize: expectedSendSize.rawValue,
                receiveSize: expectedReceiveSize.rawValue
            )
        )
    }

    /// Reads a group; creates a new one if the archive contains something else.
    public required init(coder aDecoder: NSCoder) {
        let archive = aDecoder.archive(of: Archive.self)
        operationGroupID = archive?.id ?? UUID().uuidString
        super.init()
        guard let archive else { return }
        name = archive.name
        quantity = archive.quantity
        expectedSendSize = TransferSize(rawValue: archive.sendSize) ?? .unknown
        expectedReceiveSize = TransferSize(rawValue: archive.receiveSize) ?? .unknown
    }
}
