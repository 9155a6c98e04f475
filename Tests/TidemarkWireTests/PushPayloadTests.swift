// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing
import TidemarkModel
import TidemarkWire

@Suite struct PushPayloadTests {
    private func text(_ payload: PushPayload) -> String {
        String(decoding: payload.json, as: UTF8.self)
    }

    @Test func `A query notification has the members that CloudKit clients read`() throws {
        var model = Subscription.Notification(
            .query,
            id: "n1",
            of: UserID("_anna"),
            subscriptionID: "notes"
        )
        model.container = ContainerID("iCloud.example")
        model.scope = .private
        model.reason = .created
        model.recordID = RecordID(recordName: "r1", zone: ZoneID(zoneName: "Notes"))
        model.fields = try Fields(["title": "Milk", "due": .timestamp(5), "count": 3])
        model.content.alert = NotificationContent.Text("Changed")
        model.content.soundName = "default"
        model.content.badges = true
        model.content.isContentAvailable = true
        var payload = PushPayload(model)
        payload.owner = "_anna"
        payload.badge = 4
        #expect(
            text(payload) == """
                {"aps":{"alert":"Changed","badge":4,"sound":"default","content-available":1},\
                "ck":{"ce":2,"cid":"iCloud.example","nid":"n1","ckuserid":"_anna",\
                "qry":{"sid":"notes","dbs":2,"fo":1,"rid":"r1","zid":"Notes","zoid":"_anna",\
                "af":{"count":3,"due":5,"title":"Milk"}}}}
                """
        )
    }

    @Test func `Zone, database and read notifications have their own keys`() {
        var zone = Subscription.Notification(.zone, id: "n", of: UserID("_a"), subscriptionID: "z")
        zone.zone = ZoneID(zoneName: "Notes", ownerName: "_b")
        zone.scope = .shared
        var payload = PushPayload(zone)
        payload.name = "change"
        payload.owner = "_a"
        #expect(
            text(payload) == """
                {"aps":{},"ck":{"ce":2,"nid":"change","ckuserid":"_a",\
                "fet":{"sid":"z","dbs":3,"zid":"Notes","zoid":"_b"}}}
                """
        )
        var database = Subscription.Notification(.database, id: nil, of: UserID("_a"))
        database.isPruned = true
        #expect(
            text(PushPayload(database))
                == #"{"aps":{},"ck":{"ce":2,"ckuserid":"_a","p":1,"met":{}}}"#
        )
        let read = Subscription.Notification(.read, id: "n", of: UserID("_a"))
        #expect(
            text(PushPayload(read))
                == #"{"aps":{},"ck":{"ce":2,"nid":"n","ckuserid":"_a","rd":{}}}"#
        )
    }

    @Test func `Texts other than the body make the alert an object`() {
        var model = Subscription.Notification(.database, id: nil, of: UserID("_a"))
        model.content.alert = NotificationContent.Text("Body")
        model.content.title = NotificationContent.Text(
            localizationKey: "T",
            localizationArguments: ["x"]
        )
        model.content.launchImage = "image"
        #expect(
            text(PushPayload(model)).hasPrefix(
                #"{"aps":{"alert":{"title-loc-key":"T","title-loc-args":["x"],"body":"Body","#
                    + #""launch-image":"image"}},"#
            )
        )
    }
}
