// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TidemarkModel

@Suite struct AccessRulesTests {
    private let schema: Schema
    private let ann = UserID("ann")
    private let editor = Schema.Role("editor")

    init() throws {
        schema = try SchemaFile(
            """
            DEFINE SCHEMA CREATE ROLE editor;
                RECORD TYPE Standard (GRANT WRITE TO "_creator", GRANT CREATE TO "_icloud",
                    GRANT READ TO "_world");
                RECORD TYPE Edited (GRANT READ, WRITE TO editor, GRANT READ TO "_creator",
                    GRANT WRITE, CREATE TO "_world");
                RECORD TYPE Closed ();
            """
        ).schema
    }

    /// Which of read, create and write somebody may, as letters.
    private func may(
        _ accessor: Accessor,
        _ recordType: Name,
        createdBy creator: UserID? = nil
    ) -> String {
        zip("RCW", [Schema.Permissions.read, .create, .write])
            .filter { _, permission in
                schema.refusal(of: permission, on: recordType, createdBy: creator, to: accessor)
                    == nil
            }
            .map { String($0.0) }
            .joined()
    }

    @Test func `The permissions of all roles of a caller are combined`() {
        let nobody = Accessor(nil)
        let user = Accessor(ann)
        let member = Accessor(ann, roles: [editor])
        #expect(may(nobody, "Standard") == "R")
        #expect(may(user, "Standard") == "RC")
        #expect(may(user, "Standard", createdBy: ann) == "RCW")
        #expect(may(user, "Standard", createdBy: UserID("bob")) == "RC")
        #expect(may(member, "Standard") == "RC")
        #expect(may(user, "Edited") == "CW", "what is granted to the world needs an account")
        #expect(may(user, "Edited", createdBy: ann) == "RCW")
        #expect(may(member, "Edited") == "RCW")
        #expect(may(member, "Closed", createdBy: ann) == "")
        #expect(may(member, "Missing", createdBy: ann) == "")
    }

    @Test func `A caller who is not signed in has only the world's role`() {
        let pretender = Accessor(nil, roles: [editor])
        #expect(may(pretender, "Edited") == "")
        #expect(may(Accessor(nil), "Edited", createdBy: ann) == "")
    }

    private func error(
        _ permission: Schema.Permissions,
        _ recordType: Name,
        _ accessor: Accessor,
        explained: Bool = true
    ) -> String? {
        schema.refusal(of: permission, on: recordType, to: accessor)
            .map { $0.error(explained: explained) }.map { "\($0.code): \($0.message)" }
    }

    @Test func `A rejection names the rule to callers who may know it`() {
        #expect(
            error(.write, "Standard", Accessor(ann))
                == "permissionFailure: WRITE operation not permitted: record type Standard grants "
                + "WRITE to _creator, and the caller has no such role."
        )
        #expect(
            error(.read, "Edited", Accessor(ann, roles: [Schema.Role("x")]))
                == "permissionFailure: READ operation not permitted: record type Edited grants READ "
                + "to _creator, editor, and the caller has x."
        )
        #expect(
            error(.create, "Closed", Accessor(ann))
                == "permissionFailure: CREATE operation not permitted: record type Closed grants "
                + "CREATE to nobody, and the caller has no such role."
        )
        #expect(
            error(.write, "Standard", Accessor(ann), explained: false)
                == "permissionFailure: WRITE operation not permitted."
        )
    }

    @Test func `An anonymous caller is rejected with notAuthenticated`() {
        #expect(
            error(.create, "Standard", Accessor(nil))
                == "notAuthenticated: CREATE operation not permitted: record type Standard grants "
                + "CREATE to _icloud, and nobody is signed in."
        )
        #expect(
            error(.read, "Edited", Accessor(nil), explained: false)
                == "notAuthenticated: READ operation not permitted."
        )
        #expect(
            error(.read, "Closed", Accessor(nil), explained: false)
                == "permissionFailure: READ operation not permitted."
        )
    }
}
