import HearthJSONTree

extension ClientRequest {
    /// Reads a set or an update that ``ClientMessageWriter`` wrote, as a client keeps it. Nil for any other message.
    package init?(write message: UnsafeRawBufferPointer) {
        var action: UnsafeRawBufferPointer?
        var text: UnsafeRawBufferPointer?
        guard let payload = try? MessageEnvelope(message).payload else { return nil }
        var reader = JSONReader(payload)
        try? reader.forEachMember { (reader, key) throws(JSONError) in
            let value = try reader.skipValue()
            if key.equals("a") { action = value }
            if key.equals("b") { text = value }
        }
        guard let action, let body = try? MessageBody(text) else { return nil }
        if action.equals("\"p\""), let assignment = try? body.assignment() {
            self = .put(assignment, hash: nil)
        } else if action.equals("\"m\""), let (base, assignments) = try? body.assignments() {
            self = .merge(base, assignments)
        } else {
            return nil
        }
    }
}
