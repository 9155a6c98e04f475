// Tidemark
// SPDX-License-Identifier: Apache-2.0

package import TidemarkModel

/// The encoding of notification content as fields of a record, with the names of CloudKit Web
/// Services; empty values are left out.
extension FieldsBuilder {
    package mutating func set(_ content: NotificationContent) throws(SyncError) {
        try set("alert", "alertBody", content.alert)
        try set("title", "title", content.title)
        try set("subtitle", "subtitle", content.subtitle)
        try setIfAny("alertActionLocalizationKey", content.actionLocalizationKey)
        try setIfAny("alertLaunchImage", content.launchImage)
        try setIfAny("soundName", content.soundName)
        try setIfAny("category", content.category)
        try setIfAny("collapseID", content.collapseID)
        if content.badges { try set("shouldBadge", .int64(1)) }
        if content.isContentAvailable { try set("shouldSendContentAvailable", .int64(1)) }
        if content.isMutable { try set("shouldSendMutableContent", .int64(1)) }
        if !content.desiredKeys.isEmpty { try set("desiredKeys", .stringList(content.desiredKeys)) }
    }

    private mutating func set(
        _ prefix: String,
        _ body: String,
        _ text: NotificationContent.Text
    ) throws(SyncError) {
        try setIfAny(body, text.text)
        try setIfAny(prefix + "LocalizationKey", text.localizationKey)
        if !text.localizationArguments.isEmpty {
            try set(prefix + "LocalizationArgs", .stringList(text.localizationArguments))
        }
    }

    /// Sets a field if there is a text.
    mutating func setIfAny(_ name: String, _ text: String?) throws(SyncError) {
        if let text { try set(name, .string(text)) }
    }
}

extension Fields {
    /// The content that a record has.
    package var content: NotificationContent {
        var content = NotificationContent()
        content.alert = text("alert", "alertBody")
        content.title = text("title", "title")
        content.subtitle = text("subtitle", "subtitle")
        content.actionLocalizationKey = string("alertActionLocalizationKey")
        content.launchImage = string("alertLaunchImage")
        content.soundName = string("soundName")
        content.category = string("category")
        content.collapseID = string("collapseID")
        content.badges = self["shouldBadge"] != nil
        content.isContentAvailable = self["shouldSendContentAvailable"] != nil
        content.isMutable = self["shouldSendMutableContent"] != nil
        content.desiredKeys = strings("desiredKeys")
        return content
    }

    private func text(_ prefix: String, _ body: String) -> NotificationContent.Text {
        NotificationContent.Text(
            string(body),
            localizationKey: string(prefix + "LocalizationKey"),
            localizationArguments: strings(prefix + "LocalizationArgs")
        )
    }

    /// Returns the text in a field; `nil` if there is none.
    package func string(_ name: String) -> String? {
        if case .string(let text)? = self[name] { text } else { nil }
    }

    /// Returns the texts in a field; empty if the field is missing.
    package func strings(_ name: String) -> [String] {
        if case .stringList(let texts)? = self[name] { texts } else { [] }
    }

    /// Returns the number in a field; `nil` if there is none.
    package func integer(_ name: String) -> Int64? {
        if case .int64(let number)? = self[name] { number } else { nil }
    }
}
