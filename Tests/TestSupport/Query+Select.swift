package import HearthJSONTree

extension Query {
    /// The part of a node's value that this query asks for (Protocol.md 16.1): an object of the selected children,
    /// which keep their priorities, without the node's own; null if there are none, as of a leaf. The whole value if
    /// the query selects everything.
    ///
    /// One pass over the text; with a limit O(n log n) in the children of the interval.
    package func select(from json: CanonicalJSON) -> CanonicalJSON {
        if selectsEverything { return json }
        if selectsNothing { return .null }
        var selected: [(place: IndexPlace, member: Range<Int>)] = []
        for child in json.children {
            let place = index.place(of: child, in: json)
            if contains(place) { selected.append((place, child.keyText.lowerBound..<child.value.upperBound)) }
        }
        if let limit, selected.count > limit.count {
            selected.sort { $0.place < $1.place }
            switch limit.side {
            case .first: selected.removeLast(selected.count - limit.count)
            case .last: selected.removeFirst(selected.count - limit.count)
            }
            selected.sort { $0.member.lowerBound < $1.member.lowerBound }
        }
        if selected.isEmpty { return .null }
        var bytes: [UInt8] = []
        for (_, member) in selected {
            bytes.append(UInt8(ascii: bytes.isEmpty ? "{" : ","))
            bytes.append(contentsOf: json.bytes[member])
        }
        bytes.append(UInt8(ascii: "}"))
        return CanonicalJSON(trusted: bytes)
    }
}
