// Tidemark
// SPDX-License-Identifier: Apache-2.0

import Tidemark
import TidemarkAdministration
import TidemarkModel

extension DatabaseOptions {
    /// Notes why a database from which nothing was read may be the wrong one, unless it has zones.
    func noteIfEmpty(by service: any AdministrationService) async throws {
        let id = id
        guard database != .shared, try await service.answer(ZonesCall(of: id)).isEmpty else {
            return
        }
        if id.scope == .private, id.owner != .current {
            let call = UsersCall(of: id.container, in: id.environment, user: id.owner)
            if try await service.answer(call).isEmpty {
                return note(
                    "No user \(owner.printable) is known: there are no zones of that user, and "
                        + "`tidemark users list` has no such user. Check --owner."
                )
            }
        }
        // A store without a commit has no other database either.
        guard try await service.answer(PositionCall()).newest > .zero else { return }
        let ofOwner = id.scope == .private ? " of \(owner.printable)" : ""
        note(
            "The \(database.rawValue) database\(ofOwner) in \(environment.rawValue) of the container "
                + "\(container.identifier.printable) has no zones. `tidemark usage` lists the "
                + "databases that have some; --container, --environment, --database and --owner "
                + "name one."
        )
    }
}
