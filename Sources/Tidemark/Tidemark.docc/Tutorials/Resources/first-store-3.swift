import Tidemark

struct Note: RecordCodable {
    static let recordType = "Note"
    var id = RecordName.unique()
    var text: String
}

let store = try Store.open(at: "notes.tide", access: .creating)
let zone = try await store.database(device: "laptop").createZone("notes")
let note = try await zone.save(Note(text: "Hi"))  // throws what kept it from being saved
print("saved \(note.text), version \(note.changeTag?.text ?? "none")")
