package import HearthJSONTree

extension Request {
    /// The value whose rows are made, if its text is so large that the log should have it before the turn.
    package var textToStore: CanonicalJSON? {
        guard let json = preparedValue?.json, json.bytes.count >= StoredText.bytesMin else { return nil }
        return json
    }

    /// The same request, and the log has the text of its prepared value.
    package func storing(_ text: StoredText) -> Request {
        switch operation {
        case .set(let target, var value, let expected, let echoes) where value.rows != nil:
            value.stored = text
            return asking(.set(target, value, expecting: expected, echoes: echoes))
        case .setChildren(let base, var children):
            children.stored = text
            return asking(.setChildren(base, children))
        case .update(let base, var entries):
            guard let index = entries.firstIndex(where: { $0.value.rows != nil }) else { return self }
            entries[index].value.stored = text
            return asking(.update(base: base, entries))
        default: return self
        }
    }

    /// The rows of its value are made.
    package var isPrepared: Bool { preparedValue != nil }

    private var preparedValue: IncomingValue? {
        switch operation {
        case .set(_, let value, _, _): value.rows == nil ? nil : value
        case .setChildren(_, let children): children.rows == nil ? nil : children
        case .update(_, let entries): entries.first { $0.value.rows != nil }?.value
        default: nil
        }
    }
}
