// Tidemark
// SPDX-License-Identifier: Apache-2.0

public import Foundation
import TidemarkLock
import TidemarkModel

/// The content of a subscription's notifications.
///
/// Programs write `CKSubscription.NotificationInfo`.
///
/// Unchecked: the mutable state is behind a lock.
open class CKNotificationInfo: NSObject, NSCopying, NSSecureCoding, @unchecked Sendable {
    private let state: Lock<Content>

    /// The content of the object, also in archives.
    struct Content: Codable, Hashable, Sendable {
        var alertBody: String?
        var alertLocalizationKey: String?
        var alertLocalizationArgs: [String]?
        var title: String?
        var titleLocalizationKey: String?
        var titleLocalizationArgs: [String]?
        var subtitle: String?
        var subtitleLocalizationKey: String?
        var subtitleLocalizationArgs: [String]?
        var alertActionLocalizationKey: String?
        var alertLaunchImage: String?
        var soundName: String?
        var desiredKeys: [String]?
        var shouldBadge = false
        var shouldSendContentAvailable = false
        var shouldSendMutableContent = false
        var category: String?
        var collapseIDKey: String?
    }

    init(_ content: Content) {
        state = Lock(content)
    }

    /// Returns true if the other object has the same content.
    open override func isEqual(_ object: Any?) -> Bool {
        (object as? CKNotificationInfo)?.content == content
    }

    /// The same for all objects, because the content can change.
    open override var hash: Int { 0 }

    /// Creates content that shows nothing and includes no fields.
    public override convenience init() {
        self.init(Content())
    }

    /// Creates the content of notifications.
    public convenience init(
        alertBody: String? = nil,
        alertLocalizationKey: String? = nil,
        alertLocalizationArgs: [CKRecord.FieldKey] = [],
        title: String? = nil,
        titleLocalizationKey: String? = nil,
        titleLocalizationArgs: [CKRecord.FieldKey] = [],
        subtitle: String? = nil,
        subtitleLocalizationKey: String? = nil,
        subtitleLocalizationArgs: [CKRecord.FieldKey] = [],
        alertActionLocalizationKey: String? = nil,
        alertLaunchImage: String? = nil,
        soundName: String? = nil,
        desiredKeys: [CKRecord.FieldKey] = [],
        shouldBadge: Bool = false,
        shouldSendContentAvailable: Bool = false,
        shouldSendMutableContent: Bool = false,
        category: String? = nil,
        collapseIDKey: String? = nil
    ) {
        self.init(
            Content(
                alertBody: alertBody,
                alertLocalizationKey: alertLocalizationKey,
                alertLocalizationArgs: alertLocalizationArgs,
                title: title,
                titleLocalizationKey: titleLocalizationKey,
                titleLocalizationArgs: titleLocalizationArgs,
                subtitle: subtitle,
                subtitleLocalizationKey: subtitleLocalizationKey,
                subtitleLocalizationArgs: subtitleLocalizationArgs,
                alertActionLocalizationKey: alertActionLocalizationKey,
                alertLaunchImage: alertLaunchImage,
                soundName: soundName,
                desiredKeys: desiredKeys,
                shouldBadge: shouldBadge,
                shouldSendContentAvailable: shouldSendContentAvailable,
                shouldSendMutableContent: shouldSendMutableContent,
                category: category,
                collapseIDKey: collapseIDKey
            )
        )
    }

    var content: Content { state.withLock { $0 } }

    private func set<Value: Sendable>(_ path: WritableKeyPath<Content, Value>, _ value: Value) {
        state.withLock { $0[keyPath: path] = value }
    }

    /// The main text.
    open var alertBody: String? {
        get { content.alertBody }
        set { set(\.alertBody, newValue) }
    }

    /// The key of a localized format for the main text.
    open var alertLocalizationKey: String? {
        get { content.alertLocalizationKey }
        set { set(\.alertLocalizationKey, newValue) }
    }

    /// The fields whose values are put into that format.
    open var alertLocalizationArgs: [CKRecord.FieldKey]? {
        get { content.alertLocalizationArgs }
        set { set(\.alertLocalizationArgs, newValue) }
    }

    /// The text above the main one.
    open var title: String? {
        get { content.title }
        set { set(\.title, newValue) }
    }

    /// The key of a localized format for the title.
    open var titleLocalizationKey: String? {
        get { content.titleLocalizationKey }
        set { set(\.titleLocalizationKey, newValue) }
    }

    /// The fields whose values are put into that format.
    open var titleLocalizationArgs: [CKRecord.FieldKey]? {
        get { content.titleLocalizationArgs }
        set { set(\.titleLocalizationArgs, newValue) }
    }

    /// The text between title and main text.
    open var subtitle: String? {
        get { content.subtitle }
        set { set(\.subtitle, newValue) }
    }

    /// The key of a localized format for the subtitle.
    open var subtitleLocalizationKey: String? {
        get { content.subtitleLocalizationKey }
        set { set(\.subtitleLocalizationKey, newValue) }
    }

    /// The fields whose values are put into that format.
    open var subtitleLocalizationArgs: [CKRecord.FieldKey]? {
        get { content.subtitleLocalizationArgs }
        set { set(\.subtitleLocalizationArgs, newValue) }
    }

    /// The localization key of the button that opens the app.
    open var alertActionLocalizationKey: String? {
        get { content.alertActionLocalizationKey }
        set { set(\.alertActionLocalizationKey, newValue) }
    }

    /// The image that is shown while the app is launched.
    open var alertLaunchImage: String? {
        get { content.alertLaunchImage }
        set { set(\.alertLaunchImage, newValue) }
    }

    /// The sound to play.
    open var soundName: String? {
        get { content.soundName }
        set { set(\.soundName, newValue) }
    }

    /// The fields of the record that come along: at most three.
    open var desiredKeys: [CKRecord.FieldKey]? {
        get { content.desiredKeys }
        set { set(\.desiredKeys, newValue) }
    }

    /// True if the notification changes the app's badge.
    open var shouldBadge: Bool {
        get { content.shouldBadge }
        set { set(\.shouldBadge, newValue) }
    }

    /// True if the notification wakes the app to fetch.
    open var shouldSendContentAvailable: Bool {
        get { content.shouldSendContentAvailable }
        set { set(\.shouldSendContentAvailable, newValue) }
    }

    /// True if an extension of the app may change the notification before it is shown.
    open var shouldSendMutableContent: Bool {
        get { content.shouldSendMutableContent }
        set { set(\.shouldSendMutableContent, newValue) }
    }

    /// The kind of notification, by which the app chooses its actions.
    open var category: String? {
        get { content.category }
        set { set(\.category, newValue) }
    }

    /// The value by which notifications replace each other.
    open var collapseIDKey: String? {
        get { content.collapseIDKey }
        set { set(\.collapseIDKey, newValue) }
    }

    // MARK: Copying and coding

    /// Returns an object with the same content.
    open func copy(with zone: NSZone? = nil) -> Any { CKNotificationInfo(content) }

    /// True.
    public static var supportsSecureCoding: Bool { true }

    /// Writes the content.
    open func encode(with coder: NSCoder) {
        coder.encode(archive: content)
    }

    /// Reads the content.
    public required convenience init?(coder: NSCoder) {
        guard let content = coder.archive(of: Content.self) else { return nil }
        self.init(content)
    }
}

// MARK: The service

extension CKNotificationInfo {
    convenience init(_ model: NotificationContent) {
        self.init(
            Content(
                alertBody: model.alert.text,
                alertLocalizationKey: model.alert.localizationKey,
                alertLocalizationArgs: model.alert.localizationArguments,
                title: model.title.text,
                titleLocalizationKey: model.title.localizationKey,
                titleLocalizationArgs: model.title.localizationArguments,
                subtitle: model.subtitle.text,
                subtitleLocalizationKey: model.subtitle.localizationKey,
                subtitleLocalizationArgs: model.subtitle.localizationArguments,
                alertActionLocalizationKey: model.actionLocalizationKey,
                alertLaunchImage: model.launchImage,
                soundName: model.soundName,
                desiredKeys: model.desiredKeys,
                shouldBadge: model.badges,
                shouldSendContentAvailable: model.isContentAvailable,
                shouldSendMutableContent: model.isMutable,
                category: model.category,
                collapseIDKey: model.collapseID
            )
        )
    }

    var model: NotificationContent {
        let content = content
        var model = NotificationContent()
        model.alert = NotificationContent.Text(
            content.alertBody,
            localizationKey: content.alertLocalizationKey,
            localizationArguments: content.alertLocalizationArgs ?? []
        )
        model.title = NotificationContent.Text(
            content.title,
            localizationKey: content.titleLocalizationKey,
            localizationArguments: content.titleLocalizationArgs ?? []
        )
        model.subtitle = NotificationContent.Text(
            content.subtitle,
            localizationKey: content.subtitleLocalizationKey,
            localizationArguments: content.subtitleLocalizationArgs ?? []
        )
        model.actionLocalizationKey = content.alertActionLocalizationKey
        model.launchImage = content.alertLaunchImage
        model.soundName = content.soundName
        model.category = content.category
        model.collapseID = content.collapseIDKey
        model.desiredKeys = content.desiredKeys ?? []
        model.badges = content.shouldBadge
        model.isContentAvailable = content.shouldSendContentAvailable
        model.isMutable = content.shouldSendMutableContent
        return model
    }
}
